import type { DriverFamily } from '../core/driver.ts'
import { ai, aiImage, aiObject } from './ai/index.ts'
import { blender } from './blender/index.ts'
import { bus } from './bus/index.ts'
import { database } from './database/index.ts'
import { mail } from './mail/index.ts'
import { payments } from './payments/index.ts'
import { storage } from './storage/index.ts'

/** Every driver family, with its built-in drivers. */
export const families: DriverFamily[] = [database, storage, bus, mail, ai, aiObject, aiImage, payments, blender]

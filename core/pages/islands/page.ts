/** The small script of every page: each part improves something that already works, or shows what needs a script. */
import { actAtOnce } from './at-once.ts'
import { offerCopying } from './copy.ts'
import { offerDismissal } from './dismiss.ts'
import { showWhereOneIs } from './here.ts'
import { offerKeys } from './keys.ts'
import { followEvents } from './live.ts'
import { closeMenus } from './menu.ts'
import { offerThemes } from './theme.ts'
import { localiseTimes } from './when.ts'

offerCopying()
offerDismissal()
closeMenus()
offerThemes()
offerKeys()
showWhereOneIs()
localiseTimes()
followEvents()
actAtOnce()

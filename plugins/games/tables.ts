import type { Entity } from '../../core/data/database.ts'
import { GameActivityRow } from './activity/entities.ts'
import { GameDay, GameFeature, GamePresence, GameRow, GameSlug, GameTerm, GameVisitor } from './entities.ts'
import { GameInvitation, GameMember, GameTransfer } from './members/entities.ts'

/** The tables of this plugin. */
export const entities: Entity[] = [
  GameRow,
  GameSlug,
  GameTerm,
  GameFeature,
  GameDay,
  GameVisitor,
  GamePresence,
  GameActivityRow,
  GameMember,
  GameInvitation,
  GameTransfer,
]

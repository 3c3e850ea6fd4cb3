import type { Clock } from '../../core/clock.ts'
import type { Database } from '../../core/data/database.ts'
import { Suspensions } from '../../core/data/staff/suspensions.ts'
import { STAFF } from '../../core/observe/author.ts'
import { recordActivity } from './activity/record.ts'
import { GameRow } from './entities.ts'
import type { GameLookup } from './game-lookup.ts'
import { makerIdsOf } from './members/members.ts'
import type { Game } from './schemas.ts'

/**
 * The suspensions of games. Origins, domains, previews and pages of a suspended game answer 451, its rooms end, no list
 * contains it, and players can't sign in to it. All checks use the cached game, which `game.changed` invalidates.
 */
export const suspensionsOfGames = (
  { db, clock }: { db: Database; clock: Clock },
  games: Pick<GameLookup, 'get' | 'mustOwn' | 'announce'>,
): Suspensions<Game> =>
  new Suspensions<Game>(
    { db, clock },
    {
      noun: 'game',
      entity: GameRow,
      get: (idOrSlug) => games.get(idOrSlug),
      mustOwn: (playerId, idOrSlug) => games.mustOwn(playerId, idOrSlug),
      announce: async (id) => {
        const row = await db.em().findOne(GameRow, { id }, { fields: ['slug'] })
        if (row) await games.announce({ id, slug: row.slug })
      },
      makerIds: makerIdsOf,
      note: (em, { id, did, reason }) =>
        recordActivity(
          em,
          clock,
          { gameId: id, action: `game.${did}`, detail: reason },
          ...(did === 'appeal' ? [] : [STAFF]),
        ),
    },
  )

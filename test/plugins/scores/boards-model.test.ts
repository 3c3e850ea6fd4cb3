// Tests boards against an array of scores: ties, periods, best, last and sum, removed, hidden and excluded players.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { BoardInput, PeriodName } from '../../../plugins/scores/schemas.ts'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { SEED } from '../../kit/seed.ts'

const PLAYERS = 12
const HOUR_MS = 3_600_000

const fields = fc.record({
  order: fc.constantFrom('asc' as const, 'desc' as const),
  keep: fc.constantFrom('best' as const, 'last' as const, 'sum' as const),
  reset: fc.constantFrom('never' as const, 'daily' as const, 'weekly' as const, 'monthly' as const),
  decimals: fc.constantFrom(0, 2),
})
const player = fc.nat(PLAYERS - 1)
type Step =
  | { do: 'submit'; scores: { player: number; cents: number }[] }
  | { do: 'wait'; hours: number }
  | { do: 'remove' | 'hide' | 'show' | 'exclude' | 'include'; player: number }
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      scores: fc.array(fc.record({ player, cents: fc.integer({ min: -500, max: 500 }) }), {
        minLength: 1,
        maxLength: 8,
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), hours: fc.constantFrom(1, 12, 24, 170, 800) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('remove' as const, 'hide' as const, 'show' as const, 'exclude' as const, 'include' as const),
      player,
    }),
  },
)

interface Held {
  score: number
  at: number
}

/** The same by plain arrays: all submissions in their order, replayed for each question. */
class Model {
  readonly #fields: Required<Pick<BoardInput, 'order' | 'keep' | 'reset'>>
  readonly periods = new Map<string, Map<number, Held>>()
  /** Hidden entries, as `period player`. */
  readonly #hidden = new Set<string>()
  readonly excluded = new Set<number>()

  constructor(fields: Required<Pick<BoardInput, 'order' | 'keep' | 'reset'>>) {
    this.#fields = fields
  }

  /** The period of an instant, by its calendar in UTC. */
  periodOf(at: Date): string {
    const { reset } = this.#fields
    if (reset === 'never') return 'all'
    if (reset === 'daily') return at.toISOString().slice(0, 10)
    if (reset === 'monthly') return at.toISOString().slice(0, 7)
    const monday = new Date(at)
    while (monday.getUTCDay() !== 1) monday.setUTCDate(monday.getUTCDate() - 1)
    return `week of ${monday.toISOString().slice(0, 10)}`
  }

  previousOf(at: Date): string {
    const { reset } = this.#fields
    if (reset === 'never') return 'none'
    const before = new Date(at)
    const now = this.periodOf(at)
    while (this.periodOf(before) === now) before.setUTCDate(before.getUTCDate() - 1)
    return this.periodOf(before)
  }

  submit(player: number, score: number, at: Date): void {
    for (const period of new Set([this.periodOf(at), 'all'])) {
      this.#hidden.delete(`${period} ${player}`)
      const held = this.periods.get(period) ?? new Map<number, Held>()
      this.periods.set(period, held)
      const before = held.get(player)
      const { keep, order } = this.#fields
      if (!before || keep === 'last') held.set(player, { score, at: at.getTime() })
      else if (keep === 'sum') held.set(player, { score: before.score + score, at: at.getTime() })
      else if (order === 'asc' ? score < before.score : score > before.score)
        held.set(player, { score, at: at.getTime() })
    }
  }

  setHidden(player: number, hidden: boolean): void {
    for (const [period, held] of this.periods) {
      if (hidden && held.has(player)) this.#hidden.add(`${period} ${player}`)
      else this.#hidden.delete(`${period} ${player}`)
    }
  }

  remove(player: number): boolean {
    this.setHidden(player, false)
    return [...this.periods.values()].map((held) => held.delete(player)).includes(true)
  }

  list(period: string): { player: number; score: number; rank: number; at: number }[] {
    const sign = this.#fields.order === 'asc' ? 1 : -1
    const shown = [...(this.periods.get(period) ?? [])].filter(([player]) => !this.#hidden.has(`${period} ${player}`))
    return shown
      .map(([player, { score, at }]) => {
        return { player, score, at, rank: 1 + shown.filter(([, other]) => sign * (other.score - score) < 0).length }
      })
      .sort((a, b) => sign * (a.score - b.score) || a.at - b.at || a.player - b.player)
  }
}

const lastOfEach = <S extends { player: number }>(scores: S[]): S[] =>
  scores.filter(({ player }, index) => !scores.slice(index + 1).some((later) => later.player === player))

async function prove(t: Test, config: Record<string, unknown>, runs: number): Promise<void> {
  const platform = await startPlatform(t, { config })
  const { app, clock } = platform
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const players: string[] = []
  for (let index = 0; index < PLAYERS; index++) players.push((await platform.signUp()).id)
  players.sort()
  let boards = 0

  const replay = async (input: Omit<BoardInput, 'title'>, steps: Step[]) => {
    const id = `board-${++boards}`
    const { board } = await app.scores.boards.put(game.id, id, { title: 'Test', ...input })
    const model = new Model(input as never)
    const playerId = (index: number) => players[index] as string
    const unit = 10 ** (input.decimals ?? 0)
    const take = async (step: Step): Promise<void> => {
      const now = clock.now()
      if (step.do === 'wait') clock.advance(step.hours * HOUR_MS)
      else if (step.do === 'submit') {
        // Which of two simultaneous submissions of a player is the last is not defined.
        const scores = input.keep === 'last' ? lastOfEach(step.scores) : step.scores
        const results = await Promise.allSettled(
          scores.map(({ player, cents }) => {
            const score = cents / unit
            const who = { gameId: game.id, boardId: id, playerId: playerId(player), writer: 'players' as const }
            return app.scores.submit({ ...who, score })
          }),
        )
        for (const [index, { player, cents }] of scores.entries()) {
          const result = results[index]
          if ((result?.status === 'rejected') !== model.excluded.has(player))
            throw new Error(`A submission of player ${player} was ${result?.status}.`)
          if (!model.excluded.has(player)) model.submit(player, cents, now)
        }
        const last = scores.at(-1)
        const result = results.at(-1)
        // The others of the round may have been stored after it.
        if (scores.length === 1 && last && result?.status === 'fulfilled') {
          const listed = model.list(model.periodOf(now))
          const own = listed.find(({ player }) => player === last.player)
          const { rank, best, total } = result.value
          if (rank !== own?.rank || best !== (own?.score ?? 0) / unit || total !== listed.length)
            throw new Error(`It was answered with ${JSON.stringify(result.value)} instead of ${JSON.stringify(own)}.`)
        }
      } else if (step.do === 'remove') {
        const there = model.remove(step.player)
        const removed = await app.scores.moderation.remove(board, playerId(step.player)).then(
          () => true,
          () => false,
        )
        if (removed !== there) throw new Error(`The removal of player ${step.player} was answered with ${removed}.`)
      } else if (step.do === 'exclude') {
        model.remove(step.player)
        model.excluded.add(step.player)
        await app.scores.moderation.exclude(board, playerId(step.player))
      } else if (step.do === 'include') {
        if (model.excluded.delete(step.player)) await app.scores.moderation.include(board, playerId(step.player))
      } else {
        const hidden = step.do === 'hide'
        model.setHidden(step.player, hidden)
        await app.db.transaction((em) => app.scores.moderation.setHidden(em, playerId(step.player), hidden))
      }
    }
    const check = async (name: PeriodName, period: string, limit: number) => {
      const expected = model.list(period).map(({ player, score, rank, at }) => {
        return { sub: playerId(player), score: score / unit, rank, at: new Date(at).toISOString() }
      })
      const seen: unknown[] = []
      let cursor: string | undefined
      do {
        const page = await app.scores.lists.page(board, { limit, cursor, period: name, playerId: null })
        if (page.total !== expected.length) throw new Error(`The total is ${page.total}, not ${expected.length}.`)
        for (const { player, score, rank, at } of page.entries) seen.push({ sub: player.sub, score, rank, at })
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      if (JSON.stringify(seen) !== JSON.stringify(expected))
        throw new Error(`${name}: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`)
      for (const { sub, rank } of expected.slice(0, 4)) {
        const page = await app.scores.lists.page(board, { limit: 3, period: name, playerId: sub, around: true })
        if (page.me?.rank !== rank || !page.entries.some(({ me }) => me))
          throw new Error(`Around ${sub}: ${JSON.stringify(page)}`)
      }
    }
    for (const each of steps) {
      await take(each)
      const now = clock.now()
      await check('current', model.periodOf(now), 5)
    }
    const now = clock.now()
    await check('previous', model.previousOf(now), 3)
    await check('all', 'all', 100)
    await app.scores.boards.remove(game.id, id)
  }
  await fc.assert(fc.asyncProperty(fields, fc.array(step, { minLength: 1, maxLength: 15 }), replay), {
    seed: SEED,
    numRuns: runs,
  })
  t.pass(`${boards} histories agree with the array`)
}

t.test('a board agrees with a sorted array: SQLite', (t) => prove(t, {}, amount(12, 600)))

t.test('a board agrees with a sorted array: PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await prove(t, { secret: 'x'.repeat(32), database: { driver: 'postgres', url } }, amount(3, 150))
})

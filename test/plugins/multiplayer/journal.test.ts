import fc from 'fast-check'
import t from 'tap'
import { Journal } from '../../../plugins/multiplayer/room/journal.ts'
import type { Member } from '../../../plugins/multiplayer/room/member.ts'
import { amount } from '../../kit/extent.ts'
import { SEED } from '../../kit/seed.ts'

const members = ['ada', 'bo', 'cy'].map((id) => ({ id }) as Member)

t.test('a journal repeats the last frames of each player, as a list of all that was said would', async (t) => {
  const said = fc.record({
    size: fc.integer({ min: 1, max: 40 }),
    whom: fc.integer({ min: 0, max: members.length - 1 }),
    kind: fc.constantFrom('all', 'others', 'one'),
  })
  const most = fc.record({ frames: fc.integer({ min: 1, max: 9 }), bytes: fc.integer({ min: 1, max: 8000 }) })
  fc.assert(
    fc.property(most, fc.array(said, { maxLength: 150, size: 'max' }), (most, things) => {
      const journal = new Journal(most)
      const all: { frame: Buffer; only: Member | null; except: Member | null }[] = []
      for (const [number, { size, whom, kind }] of things.entries()) {
        // Frames have up to 4 KB with different content.
        const frame = Buffer.alloc(size * 100, `${number}.`)
        const member = members[whom] as Member
        const entry = { only: kind === 'one' ? member : null, except: kind === 'others' ? member : null }
        journal.add(frame, entry)
        all.push({ frame, ...entry })
        for (const player of members) {
          const received = (of: typeof all) =>
            of.filter(({ only, except }) => (only ? only === player : except !== player)).map(({ frame }) => frame)
          const everything = received(all)
          const kept = howMany(journal, player, everything)
          // These fit wherever the ring wraps: the same number of frames, and half of the bytes.
          const sure = received(newest(all, most.frames, most.bytes / 2)).length
          if (kept < sure) throw new Error(`${kept} of ${sure} frames are kept.`)
          if (journal.lastFor(player, kept + 1) !== null) throw new Error('There is one more.')
        }
      }
    }),
    { seed: SEED, numRuns: amount(50, 200) },
  )
  t.pass()
})

t.test('a frame larger than the journal leaves nothing to repeat, and what follows is kept again', async (t) => {
  const journal = new Journal({ frames: 4, bytes: 100 })
  const [ada] = members as [Member]
  const toAll = { only: null, except: null }
  journal.add(Buffer.from('before'), toAll)
  journal.add(Buffer.alloc(101), toAll)
  t.equal(journal.lastFor(ada, 1), null)
  t.same(journal.lastFor(ada, 0), [])
  journal.add(Buffer.from('after'), toAll)
  t.same(journal.lastFor(ada, 1)?.map(String), ['after'])
  t.equal(journal.lastFor(ada, 2), null)
})

/** Returns the newest entries within the limits of count and total size. */
function newest<Entry extends { frame: Buffer }>(all: Entry[], frames: number, bytes: number): Entry[] {
  const found: Entry[] = []
  let size = 0
  for (const entry of all.toReversed()) {
    size += entry.frame.length
    if (found.length === frames || size > bytes) break
    found.unshift(entry)
  }
  return found
}

/** Returns how many frames the journal keeps for a player, and checks that each number of them are the newest ones. */
function howMany(journal: Journal, player: Member, everything: Buffer[]): number {
  for (let count = 0; ; count++) {
    const frames = journal.lastFor(player, count)
    if (!frames) return count - 1
    const expected = count === 0 ? [] : everything.slice(-count)
    if (!Buffer.concat(frames).equals(Buffer.concat(expected)) || frames.length !== expected.length) {
      throw new Error(`The last ${count} frames are not those that were said last.`)
    }
  }
}

import t from 'tap'
import { EventStreams } from '../../../core/http/event-streams.ts'

/** Returns the next chunk of a stream, or null at its end. */
const next = async (stream: AsyncGenerator<string>) => (await stream.next()).value ?? null
const NEVER_MS = 60_000

t.test('a stream says how things are, then each change when it is woken, then that it is over', async (t) => {
  const streams = new EventStreams()
  let progress = 0
  const look = async () => ({ event: 'job', data: { progress }, over: progress === 1 })
  const stream = streams.follow({ key: 'job', look, everyMs: NEVER_MS })
  t.equal(await next(stream), 'event: job\ndata: {"progress":0}\n\n')
  const later = next(stream)
  // The stream is up to date, so it sends nothing.
  setImmediate(() => streams.wake('job'))
  setTimeout(() => {
    progress = 0.5
    streams.wake('another')
    streams.wake('job')
  }, 20)
  t.equal(await later, 'event: job\ndata: {"progress":0.5}\n\n')
  progress = 1
  streams.wake('job')
  const last = next(stream)
  setImmediate(() => streams.wake('job'))
  t.equal(await last, 'event: job\ndata: {"progress":1}\n\n')
  t.equal(await next(stream), null)
})

t.test('what nobody tells of is seen by looking again', async (t) => {
  const streams = new EventStreams()
  let count = 0
  const stream = streams.follow({ key: 'a', look: async () => ({ event: 'count', data: count++ }), everyMs: 5 })
  for (let round = 0; round < 3; round++) t.equal(await next(stream), `event: count\ndata: ${round}\n\n`)
  streams.close()
  t.equal(await next(stream), null)
})

t.test(
  'a stream ends when nobody listens, when its time is over, when the server stops, and when looking fails',
  async (t) => {
    const streams = new EventStreams()
    const look = async () => ({ event: 'same', data: 1 })
    const gone = new AbortController()
    const left = streams.follow({ key: 'a', look, everyMs: NEVER_MS }, gone.signal)
    await next(left)
    const end = next(left)
    gone.abort()
    setImmediate(() => streams.wake('a'))
    t.equal(await end, null, 'nobody listens')

    const short = streams.follow({ key: 'a', look, everyMs: 5, longestMs: 1 })
    await next(short)
    t.equal(await next(short), null, 'its time is over')

    const failing = streams.follow({ key: 'a', look: () => Promise.reject(new Error('gone')) })
    await t.rejects(next(failing), { message: 'gone' })

    const open = streams.follow({ key: 'a', look, everyMs: NEVER_MS })
    await next(open)
    const stopped = next(open)
    setImmediate(() => streams.close())
    t.equal(await stopped, null, 'the server stops')
    t.equal(await next(streams.follow({ key: 'a', look })), null, 'and none begins')
  },
)

t.test(
  'streams of one name look once for all, alone at their beginning, and one that closes disturbs none',
  async (t) => {
    const streams = new EventStreams()
    let looks = 0
    let data = 0
    const look = async () => {
      looks++
      return { event: 'seen', data }
    }
    const follow = (shows?: string) => {
      const gone = new AbortController()
      const shown = shows === undefined ? {} : { shows }
      return { gone, stream: streams.follow({ key: 'a', ...shown, look, everyMs: NEVER_MS }, gone.signal) }
    }
    const ours = Array.from({ length: 20 }, () => follow('ours'))
    const [other, nameless] = [follow('of another viewer'), follow()]
    const all = [...ours, other, nameless]
    for (const { stream } of all) t.equal(await next(stream), 'event: seen\ndata: 0\n\n')
    t.equal(looks, 22, 'whoever begins looks for themselves')

    const later = all.map(({ stream }) => next(stream))
    await new Promise((done) => setImmediate(done))
    for (const { gone } of ours.slice(1)) gone.abort()
    t.same(await Promise.all(later.slice(1, 20)), Array(19).fill(null), 'each has ended at once')
    t.equal(looks, 22, 'and nobody else has looked')

    const more = Array.from({ length: 5 }, () => follow('ours'))
    for (const { stream } of more) await next(stream)
    const changes = [later[0], later[20], later[21], ...more.map(({ stream }) => next(stream))]
    await new Promise((done) => setImmediate(done))
    looks = 0
    data = 1
    streams.wake('a')
    t.same(await Promise.all(changes), Array(8).fill('event: seen\ndata: 1\n\n'))
    t.equal(looks, 3, 'one look for six of a name, one for another name, one for none')
    streams.close()
  },
)

import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { TaskQueue, type Turn } from '../../../core/jobs/task-queue.ts'

/** A queue that records which tasks have started, and ends them on request. */
function recorded(most = { interactive: 2, background: 1 }) {
  const queue = new TaskQueue(most)
  const started: string[] = []
  const turns = new Map<string, Turn>()
  const add = (name: string, { owner = name, background = false } = {}) =>
    queue.take({ owner, background }).then((turn) => {
      started.push(name)
      turns.set(name, turn)
    })
  const end = async (name: string) => {
    turns.get(name)?.end()
    await turn()
  }
  return { queue, started, add, end }
}

t.test('a task that somebody waits for starts beside background work, and before what waits of it', async (t) => {
  const { started, add, end } = recorded()
  for (const name of ['draw a', 'draw b']) void add(name, { background: true })
  await turn()
  t.strictSame(started, ['draw a'], 'one background task')
  for (const name of ['check a', 'check b']) void add(name)
  await turn()
  t.strictSame(started, ['draw a', 'check a'])
  await end('draw a')
  t.strictSame(started, ['draw a', 'check a', 'check b'])
  await end('check a')
  t.equal(started.length, 3, 'background work has one place less')
  await end('check b')
  t.strictSame(started, ['draw a', 'check a', 'check b', 'draw b'])
})

t.test('an owner has one running task of each kind', async (t) => {
  const { started, add, end } = recorded({ interactive: 5, background: 5 })
  for (const name of ['draw 1', 'draw 2']) void add(name, { owner: 'ada', background: true })
  for (const name of ['check 1', 'check 2']) void add(name, { owner: 'ada' })
  void add('other')
  await turn()
  t.strictSame(started, ['draw 1', 'check 1', 'other'])
  await end('check 1')
  await end('draw 1')
  t.strictSame(started, ['draw 1', 'check 1', 'other', 'check 2', 'draw 2'])
})

t.test('owners take turns, however many tasks one has', async (t) => {
  const { started, add, end } = recorded({ interactive: 1, background: 1 })
  for (let count = 1; count <= 50; count++) void add(`a${count}`, { owner: 'ada' })
  for (const name of ['b1', 'b2']) void add(name, { owner: 'bob' })
  await turn()
  for (const name of ['a1', 'b1', 'a2', 'b2', 'a3']) await end(name)
  t.strictSame(started, ['a1', 'b1', 'a2', 'b2', 'a3', 'a4'])
})

t.test('tasks without an owner keep their order', async (t) => {
  const queue = new TaskQueue({ interactive: 1, background: 1 })
  const started: number[] = []
  const turns = [1, 2, 3].map((number) =>
    queue.take({ background: false }).then((turn) => {
      started.push(number)
      turn.end()
      turn.end()
    }),
  )
  await Promise.all(turns)
  t.strictSame(started, [1, 2, 3])
})

t.test('who gives up leaves the queue at once, and the others stay', async (t) => {
  const { queue, started, add, end } = recorded({ interactive: 1, background: 1 })
  void add('first', { owner: 'ada' })
  await turn()
  const abort = new AbortController()
  const given = queue.take({ owner: 'ada', background: false }, abort.signal)
  void add('second', { owner: 'ada' })
  abort.abort(new Error('given up'))
  await t.rejects(given, { message: 'given up' })
  await t.rejects(queue.take({ background: false }, abort.signal), { message: 'given up' })
  await end('first')
  t.strictSame(started, ['first', 'second'])
})

t.test('closing fails what waits', async (t) => {
  const { queue, add } = recorded({ interactive: 1, background: 1 })
  await add('first')
  const waiting = [queue.take({ background: false }), queue.take({ owner: 'ada', background: true })]
  queue.close(new Error('the process stops'))
  for (const each of waiting) await t.rejects(each, { message: 'the process stops' })
  await t.rejects(queue.take({ background: false }), { message: 'the process stops' })
})

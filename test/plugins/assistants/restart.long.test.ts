import t from 'tap'
import { hasPrograms } from '../../kit/components.ts'
import { PASSWORD } from '../../kit/platform.ts'
import { freePort, startServer } from '../../kit/server.ts'
import { Visitor } from '../../kit/visitor.ts'
import { AssistantProgram } from './assistant-program.ts'
import { callTool } from './client.ts'

t.test('an assistant stays connected when the platform restarts', async (t) => {
  const options = { folder: t.testdir(), port: await freePort() }
  const first = await startServer(t, options)
  const ada = new Visitor()
  const account = { email: 'ada@example.org', password: PASSWORD, name: 'Ada' }
  t.equal((await ada.post(`${first.portal}/api/auth/sign-up`, account)).status, 201)
  const program = new AssistantProgram(first.portal)
  await program.signIn(ada)
  const clients = [await program.connect('2026'), await program.connect('2025')]
  t.teardown(() => Promise.all(clients.map((client) => client.close())))
  for (const [index, client] of clients.entries()) {
    t.notOk((await callTool(client, 'game_create', { title: `Dots ${index}`, description: '' })).refused)
  }
  t.equal(await first.stop(), 0)
  for (const client of clients) await t.rejects(callTool(client, 'games_list'))

  await startServer(t, options)
  const both = [{ slug: 'dots-1' }, { slug: 'dots-0' }]
  for (const client of clients) t.match((await callTool(client, 'games_list')).json.games, both)
  program.forgetAccessToken()
  for (const client of clients) t.match((await callTool(client, 'games_list')).json.games, both, 'renewed')
})

t.test('a job whose end an assistant waits for outlives a restart', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const options = { folder: t.testdir(), port: await freePort(), config: { blender: { driver: 'subprocess' } } }
  const first = await startServer(t, options)
  const ada = new Visitor()
  const account = { email: 'ada@example.org', password: PASSWORD, name: 'Ada' }
  t.equal((await ada.post(`${first.portal}/api/auth/sign-up`, account)).status, 201)
  const program = new AssistantProgram(first.portal)
  await program.signIn(ada)
  const client = await program.connect('2026')
  t.teardown(() => client.close())
  const waiting = callTool(client, 'blender_submit', {
    name: 'A long one',
    template: 'prop',
    script: "import time\nwhile not __import__('os').path.exists('/job/never'): time.sleep(1)",
  })
  const { promise: isRunning, resolve } = Promise.withResolvers<string>()
  const look = async () => {
    const { jobs } = (await ada.get(`${first.portal}/api/blender/v1/jobs`)).body
    if (jobs[0]?.status === 'running') resolve(jobs[0].id)
    else setTimeout(() => void look(), 100)
  }
  await look()
  const id = await isRunning
  t.equal(await first.stop(), 0)
  t.match((await waiting).json, { id, status: /^(queued|running)$/ }, 'the assistant gets the job as it is')

  await startServer(t, options)
  const { body } = await ada.get(`${first.portal}/api/blender/v1/jobs/${id}`)
  t.match(body.status, /^(queued|running)$/)
})

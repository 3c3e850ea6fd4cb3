import t from 'tap'
import { machine, startTestServer } from './kit.ts'

t.test('an OAuth application is registered, changed, given another secret and deleted', async (t) => {
  const platform = await startTestServer(t)
  const token = await platform.token(['oauth:read', 'oauth:write', 'games:write'])
  const { gameyard, json } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: platform.server.portal })
  t.match(await gameyard('apps', 'list'), { code: 0, stdout: /no applications yet/ })
  const [home, local] = ['https://example.org/cb', 'http://localhost:5173/cb']
  const made = await gameyard('apps', 'create', '--name', 'My website', '--redirect', home)
  t.match(made, { code: 0, stdout: /My website[\s\S]*Client secret +svc_secret_[\w-]{43} +\(shown this once\)/ })
  const [{ id, clientId }] = (await json('apps', 'list')).apps
  t.match(await gameyard('apps', 'list'), { stdout: new RegExp(`${id} +My website +${clientId} +secret +never`) })

  t.match(await json('apps', 'update', clientId, '--add-redirect', local, '--home-page', 'https://example.org'), {
    id,
    homepageUrl: 'https://example.org',
    redirectUris: [home, local],
  })
  t.match(await json('apps', 'update', id, '--redirect', local, '--home-page', 'none', '--signature', 'RS256'), {
    homepageUrl: null,
    redirectUris: [local],
    idTokenSignedResponseAlg: 'RS256',
  })
  const faulty = await gameyard('apps', 'update', id, '--add-redirect', 'http://far.example/cb')
  t.match(faulty, { code: 1, stderr: /needs https/ })
  t.match(await gameyard('apps', 'update', id), { code: 2, stderr: /Nothing to change/ })
  t.match(await json('apps', 'secret', id, '--grace', '3600'), { id, clientSecret: /^svc_secret_/ })
  const shown = await gameyard('apps', 'get', id)
  t.match(shown, { code: 0, stdout: new RegExp(`Redirects +${local}`) })
  t.notMatch(shown.stdout, 'svc_secret_')

  t.match(await json('apps', 'create', '--name', 'Page', '--public', '--redirect', local), { clientSecret: null })
  await json('games', 'create', '--title', 'Pong', '--description', '')
  const ofGame = (await json('apps', 'list')).apps.find(({ gameId }: { gameId: string | null }) => gameId)
  t.match(await gameyard('apps', 'delete', ofGame.id), { code: 1, stderr: /players of a game sign in through Pong/ })
  t.match(await gameyard('apps', 'delete', clientId), { code: 0, stdout: /Deleted My website/ })
  const gone = { code: 1, stderr: /You have no application [\s\S]*gameyard apps list/ }
  for (const named of [id, clientId]) t.match(await gameyard('apps', 'get', named), gone)
})

import t from 'tap'
import { currentAuthor, runAs } from '../../../core/observe/author.ts'
import { authorizeUrl, obtainCode, pkce } from '../../kit/oauth.ts'
import { Client, startPlatform } from '../../kit/platform.ts'

const DAY = 86_400_000
const CALLBACK = 'http://127.0.0.1:33418/callback'

t.test('the activity of a game says who did what, and when', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock, stranger, portal } = platform
  const ada = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(ada)
  const game = await platform.game(ada, { title: 'Pong' })
  const list = async (query = '') => (await program.get(`/api/games/pong/activity${query}`)).body
  const latest = async () => (await list('?limit=1')).activity[0]

  t.test('a person in the browser, and a token by its name', async (t) => {
    await ada.submit('/games/pong/settings', { title: 'Pong', description: 'x', tags: 'ball', visibility: 'private' })
    t.match(await latest(), {
      action: 'game.change',
      detail: /tags: none → ball, visibility: public → private/,
      by: { kind: 'person', name: 'Ada', playerId: ada.id, tool: null },
    })
    const { body } = await ada.post('/api/tokens', { label: 'build server', scopes: ['games:write', 'games:read'] })
    const token = new Client(app, body.token)
    await token.put('/api/games/pong/boards/best', { title: 'Best' })
    t.match(await latest(), {
      action: 'board.create',
      target: 'best',
      by: {
        kind: 'token',
        name: 'build server',
        playerId: ada.id,
        player: { id: ada.id, name: 'Ada', imageUrl: /^http/ },
      },
    })
    const { id } = await latest()
    await token.put('/api/games/pong/boards/best', { title: 'Best' })
    await token.patch('/api/games/pong', { title: 'Pong' })
    await token.patch('/api/games/pong', {
      settings: { saves: { bytes: 16_777_216 }, clickToStart: false },
      features: {},
    })
    t.equal((await latest()).id, id, 'what changed nothing is not listed')
    await token.put('/api/games/pong/boards/best', { title: 'Best', max: 9 })
    t.match(await latest(), { action: 'board.change', detail: 'max' })
    t.equal((await token.put('/api/games/pong/boards/best', { title: 'Best', min: 99 })).status, 400)
    t.match(await latest(), { action: 'board.change', detail: 'max' }, 'a refused change is not listed')
    const features = { inputs: ['touch', 'mouse'], orientation: 'any' }
    await token.patch('/api/games/pong', { features, settings: { saves: { bytes: 9 } } })
    const detail = 'inputs: none → touch, mouse, orientation: none → any, savesBytes: 16777216 → 9'
    t.match(await latest(), { action: 'game.change', detail })
  })

  t.test('an assistant by the name of its client, with the tool', async (t) => {
    const { verifier, challenge } = pkce()
    const fields = { client_name: 'Quill', redirect_uris: [CALLBACK] }
    const { body } = await stranger.post('/api/oauth/register', fields)
    const client = { id: '', clientId: body.client_id as string, clientSecret: '' }
    const asked = { redirect_uri: CALLBACK, resource: `${portal}/mcp`, scope: 'games:read games:write', ...challenge }
    t.equal((await ada.get(authorizeUrl(client, asked))).status, 200)
    const form = { grant_type: 'authorization_code', client_id: client.clientId, redirect_uri: CALLBACK }
    const granted = await stranger.submit(
      '/api/oauth/token',
      { ...form, code: await obtainCode(ada, client, asked), code_verifier: verifier },
      { headers: { origin: undefined } },
    )
    const assistant = new Client(app, granted.body.access_token)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
    const params = { name: 'game_update', arguments: { id: 'pong', description: 'By an assistant.' } }
    const accept = { headers: { accept: 'application/json, text/event-stream' } }
    t.match(await assistant.post('/mcp', { ...call, params }, accept), { status: 200 })
    t.match(await latest(), {
      action: 'game.change',
      detail: 'description',
      by: { kind: 'assistant', name: 'Quill', tool: 'game_update', playerId: ada.id },
    })
  })

  t.test('staff without a name, and the platform by itself', async (t) => {
    const host = await platform.admin()
    await app.games.suspensions.suspend(game.id, 'Stolen pictures.', { id: host.id, role: 'admin' })
    t.match(await latest(), {
      action: 'game.suspend',
      detail: 'Stolen pictures.',
      by: { kind: 'staff', name: null, playerId: null, player: null },
    })
    await program.post('/api/games/pong/appeal', { text: 'They are mine.' })
    t.match(await latest(), { action: 'game.appeal', by: { kind: 'token' } })
    await app.games.suspensions.lift(game.id, { id: host.id, role: 'admin' })
    await app.games.update(ada.id, game.id, { title: 'Ping' })
    t.match(await latest(), { action: 'game.change', detail: 'title: Pong → Ping', by: { kind: 'platform' } })
  })

  t.test('secrets, sharing and deletion', async (t) => {
    await program.post('/api/games/pong/secret')
    t.match(await latest(), { action: 'game.secret', target: null, detail: null })
    const { body } = await ada.post('/api/games/pong/invitations', { role: 'tester' })
    t.match(await latest(), { action: 'invitation.create', detail: 'tester' })
    await ada.submit('/games/pong/team/revoke', { invitation: body.id })
    t.match(await latest(), { action: 'invitation.revoke' })
    await program.delete('/api/games/pong')
    await program.post(`/api/games/${game.id}/restore`)
    const { activity } = await list('?limit=2')
    t.match(activity, [{ action: 'game.restore' }, { action: 'game.delete' }])
  })

  t.test('the list comes in pages, the page shows it, and nobody else sees it', async (t) => {
    const all = (await list('?limit=100')).activity
    t.equal(all.at(-1).action, 'game.create')
    const seen: string[] = []
    let cursor = ''
    do {
      const page = await list(`?limit=5${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.activity.map(({ id }: { id: string }) => id))
      cursor = page.nextCursor ?? ''
    } while (cursor)
    t.same(
      seen,
      all.map(({ id }: { id: string }) => id),
    )
    const page = await ada.get('/games/pong/activity')
    for (const words of ['assistant <bdi>Quill</bdi>, game_update', 'The staff of this platform', 'Stolen']) {
      t.match(page.text, words)
    }
    t.match(page.text, /<bdi>Ada<\/bdi><\/span><\/span><br\/><span class="soft">token <bdi>build server<\/bdi><\/span>/)
    const other = await platform.signUp()
    t.equal((await (await platform.program(other)).get('/api/games/pong/activity')).status, 404)
    t.equal((await other.get('/games/pong/activity')).status, 404)
  })

  t.test('concurrent changes have their own author each', async (t) => {
    const bo = await platform.signUp({ name: 'Bo' })
    const own = [game, await platform.game(bo, { title: 'Of Bo' })]
    const players = [ada, bo]
    // Changes of leaderboards share their commits.
    await Promise.all(
      Array.from({ length: 12 }, (_, number) =>
        players[number % 2]?.put(`/api/games/${own[number % 2]?.id}/boards/b${number}`, { title: 'Best' }),
      ),
    )
    for (const [index, { id }] of own.entries()) {
      const { activity } = await app.games.activity.list(id, { limit: 6 })
      t.same(
        activity.map(({ action, by }) => [action, by.playerId]),
        activity.map(() => ['board.create', players[index]?.id]),
      )
    }
  })

  t.test('entries are deleted after 180 days', async (t) => {
    const sweep = () => app.games.activity.sweep(new AbortController().signal)
    clock.advance(179 * DAY)
    await sweep()
    t.ok((await app.games.activity.list(game.id, { limit: 100 })).activity.length > 1, 'and not before')
    clock.advance(2 * DAY)
    await app.games.update(ada.id, game.id, { title: 'Pang' })
    await sweep()
    t.match((await app.games.activity.list(game.id, { limit: 100 })).activity.length, 1)
  })
})

t.test('outside of a request the platform is the author', async (t) => {
  const author = { kind: 'person', playerId: 'ply_x', name: null, tool: null } as const
  t.same(runAs(author, currentAuthor), author)
  t.match(currentAuthor(), { kind: 'platform' })
})

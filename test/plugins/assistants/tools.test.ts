import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { ALL } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { connect, type Era } from './client.ts'

const PAGE = '<!doctype html><title>Dots</title><script type="module" src="js/main.js"></script>'

t.test('assistants', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const ada = await platform.signUp({ name: 'Ada' })
  const token = (await platform.program(ada)).token as string

  for (const era of (ALL ? ['2026', '2025'] : ['2026']) as Era[]) {
    t.test(`a client of the revision of ${era} makes a game, publishes it, changes it and rolls back`, async (t) => {
      const { client, call } = await connect(t, platform, token, { era })
      t.match(client.getServerVersion(), { name: 'gameyard' })
      t.match(client.getInstructions(), /docs_search/)
      const { tools } = await client.listTools()
      const names = tools.map(({ name }) => name)
      for (const name of ['games_list', 'deploy_files', 'boards_set', 'assets_search', 'docs_search', 'ai_generate']) {
        t.ok(names.includes(name), name)
      }
      for (const { name, description, inputSchema, annotations } of tools) {
        t.match(description, /^[A-Z].*\.$/s, `${name} says what it does`)
        t.equal(inputSchema.additionalProperties, false, `${name} says all of its arguments`)
        t.type(annotations?.readOnlyHint, 'boolean')
        t.type(annotations?.destructiveHint, 'boolean')
      }
      const made = await call('game_create', { title: `Dots ${era}`, description: 'Made by an assistant.' })
      t.match(made, { refused: false, json: { slug: `dots-${era}`, playable: true } })
      t.notMatch(JSON.stringify(made.json), /svc_secret_/, 'the transcript has no secret')
      const { id, slug } = made.json
      const first = await call('deploy_files', {
        gameId: slug,
        files: { 'index.html': PAGE, 'js/main.js': 'console.log(1)', 'dot.png': { base64: 'iVBORw0KGgo=' } },
        message: 'First',
      })
      t.match(first, {
        refused: false,
        json: { deployId: /^dep_/, playUrl: String, url: platform.app.origins.game(slug) },
      })
      t.match(await page(platform, slug), PAGE)

      const changed = await call('deploy_files', {
        gameId: id,
        basedOn: first.json.deployId,
        files: { 'js/main.js': 'console.log(2)' },
        remove: ['dot.png'],
      })
      t.notOk(changed.refused)
      const { json: listed } = await call('game_files', { id })
      t.same(
        listed.files.map(({ path }: { path: string }) => path),
        ['index.html', 'js/main.js'],
      )
      t.match((await call('game_read_file', { id, path: 'js/main.js' })).json, {
        text: 'console.log(2)',
        nextOffset: null,
      })
      t.match((await call('game_read_file', { id, path: 'dot.png', deployId: first.json.deployId })).json, {
        base64: 'iVBORw0KGgo=',
        contentType: 'image/png',
      })
      const stale = await call('deploy_files', { gameId: id, basedOn: first.json.deployId, files: { 'a.txt': 'a' } })
      t.match(stale, {
        refused: true,
        json: { error: { code: 'conflict', message: new RegExp(changed.json.deployId) } },
      })

      t.notOk((await call('deploy_rollback', { deployId: first.json.deployId })).refused)
      t.match((await call('game_read_file', { id, path: 'js/main.js' })).json, { text: 'console.log(1)' })
      t.match((await call('deploys_list', { id })).json.deploys, [
        { id: changed.json.deployId, state: 'superseded' },
        { id: first.json.deployId, state: 'live', message: 'First' },
      ])
      const board = await call('boards_set', { id, boardId: 'fastest', title: 'Fastest', order: 'asc' })
      t.match(board.json, { id: 'fastest', title: 'Fastest', order: 'asc', keep: 'best' })
      t.match((await call('boards_list', { id })).json.boards, [{ id: 'fastest' }])
      t.match((await call('games_list', { limit: 1 })).json.games, [{ id }])
    })
  }

  t.test('the schemas of tools have only what every provider of models reads', async (t) => {
    const { client } = await connect(t, platform, token)
    const { tools } = await client.listTools()
    const patterns: string[] = []
    for (const { name, inputSchema } of tools) {
      const text = JSON.stringify(inputSchema, (key, value) => {
        if (key === 'pattern' && typeof value === 'string') patterns.push(value)
        if (key === 'patternProperties') patterns.push(...Object.keys(value))
        return value
      })
      t.notMatch(text, '"advice"', name)
    }
    t.ok(patterns.length > 3, 'plain patterns stay')
    for (const pattern of patterns) t.notMatch(pattern, /\\[pPukK1-9]|\(\?(?!:)/, pattern)
    const create = tools.find(({ name }) => name === 'game_create')
    t.match(create?.inputSchema.properties?.title, { description: /visible character/, maxLength: 120 })
    const python = spawnSync('python3', ['-c', 'import json, re, sys\nfor p in json.load(sys.stdin): re.compile(p)'], {
      input: JSON.stringify(patterns),
      encoding: 'utf8',
    })
    if (!python.error) t.equal(python.stderr, '', 'Python compiles them')
    const { call } = await connect(t, platform, token)
    t.match(await call('game_create', { title: '\u200b', description: '' }), {
      refused: true,
      json: { error: { code: 'invalid_request', details: [{ path: 'title', message: /visible/ }] } },
    })
  })

  t.test('a message that is too long is refused with what to do', async (t) => {
    const { client, call } = await connect(t, platform, token)
    const { tools } = await client.listTools()
    for (const { name, description } of tools) {
      if (['deploy_files', 'asset_upload'].includes(name)) t.match(description, /at most 32 MiB, .* about 23 MiB/, name)
    }
    const files = { 'index.html': 'x', 'heavy.txt': 'x'.repeat(33 * 1024 ** 2) }
    const refusal = await call('deploy_files', { gameId: 'dots-2026', files }).catch((error) => String(error))
    t.match(refusal, /"jsonrpc":"2\.0".*too long.*Send the files in several calls/)
  })

  t.test('a tool answers as its route does', async (t) => {
    const { call } = await connect(t, platform, token)
    const program = await platform.program(ada)
    const { games } = (await program.get('/api/games')).body
    t.same((await call('games_list')).json.games, games)
    t.same((await call('game_get', { id: games[0].slug })).json, games[0])
    const logs = `/api/games/${games[0].id}/logs`
    t.same((await call('game_logs', { id: games[0].id })).json, (await program.get(logs)).body)
    const errors = `/api/games/${games[0].id}/errors`
    t.same((await call('game_errors', { id: games[0].id })).json, (await program.get(errors)).body)
    t.same((await call('credits')).json, (await program.get('/api/ai/credits')).body)
  })

  t.test('a refusal has the words of the API, and says what to do next', async (t) => {
    const reader = await connect(t, platform, (await platform.program(ada, ['games:read'])).token as string)
    t.match(await reader.call('game_create', { title: 'No', description: '' }), {
      refused: true,
      json: {
        error: {
          code: 'missing_scope',
          message: 'API token is missing the games:write scope.',
          next: /settings\/tokens/,
        },
      },
    })
    const { call } = await connect(t, platform, token)
    t.match(await call('game_get', { id: 'nowhere' }), {
      refused: true,
      json: { error: { code: 'not_found', next: /games_list/ } },
    })
    t.match(await call('game_get', { game: 'x' }), {
      refused: true,
      json: { error: { code: 'invalid_request', details: [{ path: 'id' }, { path: 'game' }] } },
    })
    t.match(await call('deploy_files', { gameId: 'dots-2026', files: { '../x': 'a' } }), {
      refused: true,
      json: { error: { code: 'invalid_request' } },
    })
    t.match(await call('ai_generate', { type: 'text', prompt: 'Hi' }), {
      refused: true,
      json: { error: { code: 'ai_not_configured' } },
    })
    t.rejects(call('no_such_tool'), /no tool/)
  })

  t.test("another person's things are not found", async (t) => {
    const eve = await platform.signUp({ name: 'Eve' })
    const { call } = await connect(t, platform, (await platform.program(eve)).token as string)
    const { games } = (await (await platform.program(ada)).get('/api/games')).body
    const [game] = games
    for (const [name, args] of Object.entries({
      game_get: { id: game.id },
      game_update: { id: game.id, title: 'Mine' },
      game_files: { id: game.id },
      game_read_file: { id: game.id, path: 'index.html' },
      deploys_list: { id: game.id },
      deploy_files: { gameId: game.id, files: { 'index.html': 'x' } },
      deploy_rollback: { deployId: game.liveDeployId },
      boards_list: { id: game.id },
      boards_set: { id: game.id, boardId: 'mine', title: 'Mine' },
      game_analytics: { id: game.id },
      game_logs: { id: game.id },
      game_errors: { id: game.id },
    })) {
      t.match(await call(name, args), { refused: true, json: { error: { code: 'not_found' } } }, name)
    }
  })

  t.test('a repeated call with an idempotencyKey returns the first answer', async (t) => {
    const { client, call } = await connect(t, platform, token)
    const args = { title: 'Once', description: '', idempotencyKey: 'once-1' }
    const [first, second] = await Promise.all([call('game_create', args), call('game_create', args)])
    const third = await call('game_create', args)
    const made = [first, second, third].filter(({ refused }) => !refused)
    t.ok(made.length >= 2)
    for (const { json } of made) t.equal(json.id, made[0]?.json.id)
    t.match(await call('game_create', { ...args, title: 'Twice' }), {
      refused: true,
      json: { error: { code: 'conflict' } },
    })
    t.match(await call('game_create', { ...args, idempotencyKey: 'über' }), {
      refused: true,
      json: { error: { code: 'invalid_request', details: [{ path: 'idempotencyKey' }] } },
    })
    const takers = (await client.listTools()).tools.filter(({ inputSchema }) => inputSchema.properties?.idempotencyKey)
    const guide = readFileSync('docs/assistants.md', 'utf8')
    const told = guide.split('take an `idempotencyKey`')[0]?.split('\n\n').at(-1) ?? ''
    const named = [...told.matchAll(/`(\w+)`/g)].map(([, name]) => name)
    t.same(named.sort(), takers.map(({ name }) => name).sort(), 'the guide names the tools that take one')
  })

  t.test('a part of a text ends with a whole character, and the next part begins after it', async (t) => {
    const { call } = await connect(t, platform, token)
    const { json: game } = await call('game_create', { title: 'Long', description: '' })
    const [dice, noise] = [`x${'🎲'.repeat(70_000)}`, Buffer.alloc(300_000, 0xe2)]
    const files = { 'index.html': 'x', 'dice.txt': dice, 'noise.bin': { base64: noise.toString('base64') } }
    await call('deploy_files', { gameId: game.id, files })
    const { json: first } = await call('game_read_file', { id: game.id, path: 'dice.txt' })
    t.match(first, { nextOffset: 256 * 1024 - 3, text: String })
    const { json: rest } = await call('game_read_file', { id: game.id, path: 'dice.txt', offset: first.nextOffset })
    t.equal(first.text + rest.text, dice)
    t.equal(rest.nextOffset, null)
    const { json: bytes } = await call('game_read_file', { id: game.id, path: 'noise.bin' })
    t.equal(Buffer.from(bytes.base64, 'base64').length, bytes.nextOffset, 'other bytes are not cut')
  })

  t.test('a destructive call asks the person where the client can', async (t) => {
    const { games } = (await (await platform.program(ada)).get('/api/games')).body
    const game = games.find(({ slug }: { slug: string }) => slug === 'dots-2026')
    let yes = false
    const { call, questions } = await connect(t, platform, token, { ask: () => yes })
    const replace = { gameId: game.id, whole: true, files: { 'index.html': '<!doctype html><title>New</title>' } }
    t.match(await call('deploy_files', replace), { refused: true, json: /said no/ })
    t.match(questions, [/Replace everything/])
    t.match(await call('game_update', { id: game.id, url: 'https://elsewhere.example' }), {
      refused: true,
      json: /said no/,
    })
    t.match(questions.at(-1), /at which address\?$/, 'the address moves every player elsewhere')
    t.equal((await call('game_get', { id: game.id })).json.liveDeployId, game.liveDeployId)
    yes = true
    t.notOk((await call('deploy_files', replace)).refused)
    t.match(await page(platform, game.slug), '<title>New</title>')
  })

  t.test('files come as base64 with line ends, and as data URLs', async (t) => {
    const { call } = await connect(t, platform, token)
    const bytes = Buffer.alloc(3 * 1024 ** 2 + 1, 'Gameyard!')
    const lines = bytes.toString('base64').replace(/.{76}/g, '$&\r\n')
    const sent = { 'a.bin': { base64: `${lines}\n` }, 'b.bin': { base64: 'data:image/png;base64,iVBORw0KGgo=' } }
    const { json } = await call('deploy_files', { gameId: 'dots-2026', files: sent })
    const { json: listed } = await call('game_files', { id: 'dots-2026' })
    const sizes = new Map(listed.files.map(({ path, size }: { path: string; size: number }) => [path, size]))
    t.match({ a: sizes.get('a.bin'), b: sizes.get('b.bin') }, { a: bytes.length, b: 8 }, json)
    const { json: read } = await call('game_read_file', { id: 'dots-2026', path: 'a.bin', offset: 3 * 1024 ** 2 })
    t.equal(read.text, bytes.subarray(3 * 1024 ** 2).toString())
    for (const base64 of ['data:text/plain,hello', 'a=b', 'iVBORw0KGgo===', '!']) {
      const refused = await call('deploy_files', { gameId: 'dots-2026', files: { 'a.bin': { base64 } } })
      t.match(refused, { refused: true, json: { error: { message: 'files.a.bin is not base64.' } } }, base64)
    }
  })

  t.test('files that the platform has go into a game and into the library by their names', async (t) => {
    const { call } = await connect(t, platform, token)
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const upload = { fileName: 'dot.png', title: 'Dot' }
    const { json: asset } = await call('asset_upload', { ...upload, base64: pixel })
    t.match(asset, { id: /^ast_/, visibility: 'private' })
    const change = { gameId: 'dots-2026', files: { 'dot.png': { from: asset.id } } }
    t.notOk((await call('deploy_files', change)).refused)
    t.equal((await call('game_read_file', { id: 'dots-2026', path: 'dot.png' })).json.base64, pixel)
    t.match((await call('asset_upload', { ...upload, title: 'Copy', from: asset.id })).json, {
      id: /^ast_/,
      kind: asset.kind,
    })
    for (const given of [{}, { base64: pixel, from: asset.id }]) {
      t.match((await call('asset_upload', { ...upload, ...given })).json, {
        error: { code: 'invalid_request', message: /either/ },
      })
    }
    const from = (name: string) => call('deploy_files', { gameId: 'dots-2026', files: { x: { from: name } } })
    t.match((await from('gen_1')).json.error, { code: 'invalid_request', details: [{ path: 'files.x' }] })
    t.match((await from(`${asset.id}/other.png`)).json.error, { code: 'not_found' })
    t.match((await from(`job_${'0'.repeat(26)}/model.glb`)).json.error, { code: 'not_found' })

    const changed = await call('asset_update', {
      id: asset.id,
      visibility: 'public',
      title: 'Point',
      license: 'CC0-1.0',
    })
    t.match(changed, { refused: false, json: { visibility: 'public', title: 'Point', license: 'CC0-1.0' } })
    const { call: asked, questions } = await connect(t, platform, token, { ask: () => false })
    t.match(await asked('asset_update', { id: asset.id, visibility: 'private' }), { refused: true, json: /said no/ })
    t.match(questions, [/who can load the asset/])

    const eve = await platform.signUp({ name: 'Eve' })
    const game = await platform.game(eve, { title: 'Theft' })
    const { call: ofEve } = await connect(t, platform, (await platform.program(eve)).token as string)
    const theft = { gameId: game.id, files: { 'index.html': 'x', x: { from: asset.id } } }
    t.match(await ofEve('deploy_files', theft), { refused: true, json: { error: { code: 'not_found' } } })
    t.match(await ofEve('asset_update', { id: asset.id, title: 'Mine' }), {
      refused: true,
      json: { error: { code: 'not_found' } },
    })
    const writer = await platform.program(ada, ['deployments:write'])
    const { call: withoutScope } = await connect(t, platform, writer.token as string)
    t.match(await withoutScope('deploy_files', change), {
      refused: true,
      json: { error: { code: 'missing_scope', message: /assets:read/ } },
    })
  })

  t.test('a refusal names the tool that helps, and arguments by their name here', async (t) => {
    const { call } = await connect(t, platform, token)
    const next = async (name: string, args: Record<string, unknown>) => (await call(name, args)).json.error
    t.match(await next('game_read_file', { id: 'dots-2026', path: 'no.js' }), { next: /^game_files/ })
    t.match(await next('game_get', { id: 'nowhere' }), { next: /^games_list/ })
    t.match(await next('deploy_rollback', { deployId: 'dep_1' }), { next: /^deploys_list/ })
    await call('game_create', { title: 'Keys', description: '', idempotencyKey: 'keys' })
    const other = await next('game_create', { title: 'Other', description: '', idempotencyKey: 'keys' })
    t.match(other, { message: 'This idempotencyKey was used with other arguments.' })
    if (platform.app.hasDecorator('blender')) {
      const { message } = await next('blender_submit', { name: 'X', template: 'no-such-template' })
      t.notMatch(message, /GET|api/)
    }
  })

  t.test('a preview is one in the list, and rooms are restarted on request', async (t) => {
    const { call } = await connect(t, platform, token)
    const change = { gameId: 'dots-2026', files: { 'a.txt': 'preview' } }
    const { json: preview } = await call('deploy_files', { ...change, preview: true })
    t.match((await call('deploys_list', { id: 'dots-2026', limit: 2 })).json.deploys, [
      { id: preview.deployId, state: 'superseded', preview: true },
      { state: 'live', preview: false },
    ])
    const restarts: unknown[] = []
    platform.app.events.on('rooms.restart', (event: unknown) => void restarts.push(event))
    t.notOk((await call('deploy_files', { ...change, restartRooms: true })).refused)
    t.equal(restarts.length, 1)
    t.match(await call('deploy_files', { ...change, preview: true, restartRooms: true }), { refused: true })
    t.notOk((await call('deploy_rollback', { deployId: preview.deployId, restartRooms: true })).refused)
    t.equal(restarts.length, 2)
  })

  t.test('docs_search answers with the section itself', async (t) => {
    const { call } = await connect(t, platform, token)
    const { sections } = (await call('docs_search', { q: 'roll back a deploy' })).json
    t.match(sections[0], { guide: String, heading: String, url: /\/docs\//, text: /rollback/, cut: false })
    for (const q of ['domain', 'storage', 'room', 'config limits', 'proxy']) {
      const found = (await call('docs_search', { q, limit: 10 })).json.sections
      for (const { text, cut, url } of found) {
        t.ok(text.length <= 4010, url)
        if (cut) t.equal((text.match(/^```/gm)?.length ?? 0) % 2, 0, 'an open block of code is closed')
      }
    }
    const [first] = (await call('docs_search', { q: 'custom domain for my game' })).json.sections
    t.notMatch(first.url, /self-hosting|behind-a-proxy/, 'guides for makers come first')
  })

  t.test('the endpoint refuses strangers, other kinds of credential, batches and sessions', async (t) => {
    const refused = await platform.stranger.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    t.equal(refused.status, 401)
    const metadata = `${platform.portal}/.well-known/oauth-protected-resource/mcp`
    t.equal(refused.headers['www-authenticate'], `Bearer resource_metadata="${metadata}"`)
    t.equal((await ada.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status, 401, 'a cookie')
    const program = await platform.program(ada)
    t.match(await program.post('/mcp', [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }]), {
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })
    t.equal((await program.get('/mcp')).status, 405)
    t.equal((await program.delete('/mcp')).status, 405)
  })
})

/** Requests the first page of a game. Node resolves no name of `*.localhost`. */
function page({ app, portal }: Awaited<ReturnType<typeof startPlatform>>, slug: string): Promise<string> {
  const { port } = new URL(portal)
  const { host } = new URL(app.origins.game(slug))
  return new Promise((done, fail) => {
    request({ host: '127.0.0.1', port, path: '/', headers: { host } }, (response) => done(text(response)))
      .on('error', fail)
      .end()
  })
}

// Saves and scores, which are no part of the specification, in the same form as its tables.
import type { Test } from 'tap'
import { type Ask, type Case, type Cases, ISO, World } from './world.ts'

/** What the platform answers at the game's own address, to a page of the game with a signed-in player. */
async function inGame(w: World, method: string, path: string, options: Ask = {}) {
  const { url } = await w.game()
  return w.http(method, `${url}${path}`, { cookie: await w.gameSession(), ...options })
}

const put = (w: World, key: string, body: string | Buffer, headers = {}) =>
  inGame(w, 'PUT', `/__service/saves/${key}`, { body, headers: { 'content-type': 'text/plain', ...headers } })

/** A board of the game that the cases are about. */
async function board(w: World, id: string, fields: object = {}) {
  const path = `/api/games/${(await w.game()).id}/boards/${id}`
  const options = { token: await w.token('games:write'), body: { title: 'Fastest', ...fields } }
  return { path, put: await w.http('PUT', path, options) }
}

const submit = (w: World, id: string, body: object) => inGame(w, 'POST', `/__service/scores/${id}`, { body })

const operation =
  (path: string, methods: string[]): Case =>
  async (t, w) => {
    const { body } = await w.once('openapi', () => w.get('/openapi.json'))
    for (const method of methods) {
      t.match(body.paths[path]?.[method], { summary: String, tags: Array }, `${method} ${path}`)
    }
  }

const documented =
  (path: string, methods: string[], run: Case): Case =>
  async (t, w) => {
    await operation(path, methods)(t, w)
    await run(t, w)
  }

export const memory: Cases = {
  'Saves / PUT /__service/saves/{key}': documented('/__service/saves/{key}', ['put'], async (t, w) => {
    const first = await put(w, 'made', 'one', { 'if-none-match': '*' })
    t.match(first, {
      status: 201,
      headers: { etag: '"1"' },
      body: { key: 'made', version: 1, size: 3, updatedAt: ISO },
    })
    t.match(await put(w, 'made', 'two', { 'if-match': '"1"' }), { status: 200, body: { version: 2 } })
  }),
  'Saves / GET|HEAD /__service/saves/{key}': documented('/__service/saves/{key}', ['get', 'head'], async (t, w) => {
    await put(w, 'bytes', '\0é\n', { 'content-type': 'image/x-own' })
    const headers = { etag: '"1"', 'cache-control': 'no-store', 'content-type': 'image/x-own', 'content-length': '4' }
    t.match(await inGame(w, 'HEAD', '/__service/saves/bytes'), { status: 200, headers })
    const { status, body, headers: got } = await inGame(w, 'GET', '/__service/saves/bytes')
    t.match({ status, headers: got }, { status: 200, headers })
    t.equal(body, '\0é\n', 'as it came')
    const same = await inGame(w, 'GET', '/__service/saves/bytes', { headers: { 'if-none-match': '"1"' } })
    t.equal(same.status, 304)
  }),
  'Saves / GET /__service/saves': documented('/__service/saves', ['get'], async (t, w) => {
    await put(w, 'listed', 'four')
    const { status, body } = await inGame(w, 'GET', '/__service/saves')
    t.match({ status, body }, { status: 200, body: { usedBytes: Number, limitBytes: 16 * 1024 * 1024 } })
    const save = body.saves.find(({ key }: { key: string }) => key === 'listed')
    t.match(save, { key: 'listed', version: 1, size: 4, contentType: 'text/plain', updatedAt: ISO })
  }),
  'Saves / DELETE /__service/saves/{key}': documented('/__service/saves/{key}', ['delete'], async (t, w) => {
    await put(w, 'gone', '1')
    t.equal((await inGame(w, 'DELETE', '/__service/saves/gone')).status, 204)
    t.match(await inGame(w, 'GET', '/__service/saves/gone'), { status: 404, body: { error: { code: 'no_such_save' } } })
  }),
  'Saves / GET /__service/saves/{key}/versions': documented(
    '/__service/saves/{key}/versions',
    ['get'],
    async (t, w) => {
      await put(w, 'kept', '1')
      await put(w, 'kept', '22')
      const { body } = await inGame(w, 'GET', '/__service/saves/kept/versions')
      const versions = [
        { version: 2, size: 2, current: true, updatedAt: ISO },
        { version: 1, size: 1, current: false, updatedAt: ISO },
      ]
      t.match(body, { key: 'kept', versions })
    },
  ),
  'Saves / POST /__service/saves/{key}/restore': documented(
    '/__service/saves/{key}/restore',
    ['post'],
    async (t, w) => {
      await put(w, 'back', '1')
      await put(w, 'back', '2')
      const restored = await inGame(w, 'POST', '/__service/saves/back/restore', { body: { version: 1 } })
      t.match(restored, { status: 200, body: { version: 3 } }, 'a version only grows')
      t.equal(String((await inGame(w, 'GET', '/__service/saves/back')).body), '1')
    },
  ),
  'Saves / GET|PUT|DELETE {base_url}/api/saves': documented(
    '/api/saves/{key}',
    ['get', 'put', 'delete'],
    async (t, w) => {
      await operation('/api/saves', ['get'])(t, w)
      t.equal((await w.get('/api/saves')).status, 401)
      const token = (await w.tokens()).body.access_token
      t.match(await w.get('/api/saves', { token }), { status: 403 }, 'the application of this token is no game')
      t.equal((await w.get('/api/saves', { token: await w.token('games:read') })).status, 403, 'an API token is none')
    },
  ),
  'Saves / GET /__service/saves.js': async (t, w) => {
    const { status, headers, body } = await inGame(w, 'GET', '/__service/saves.js')
    t.match({ status, headers }, { status: 200, headers: { 'content-type': /^text\/javascript/ } })
    t.match(String(body), /export\s*\{[^}]*\bsaves\b/)
  },
  'Saves / 412 save_conflict': async (t, w) => {
    await put(w, 'both', '1')
    const conflict = { status: 412, body: { error: { code: 'save_conflict' }, version: 1, updatedAt: ISO } }
    t.match(await put(w, 'both', '2', { 'if-none-match': '*' }), conflict)
    t.match(await put(w, 'both', '2', { 'if-match': '"7"' }), conflict)
  },
  'Saves / 413 save_too_large': async (t, w) => {
    const large = Buffer.alloc(1024 * 1024, 'x')
    t.equal((await put(w, 'large', large)).status, 201, '1 MiB')
    const refused = { status: 413, body: { error: { code: 'save_too_large' } } }
    t.match(await put(w, 'large', Buffer.concat([large, large.subarray(0, 1)])), refused)
    t.match((await inGame(w, 'GET', '/__service/saves/large/versions')).body.versions, { length: 1 }, 'nothing changed')
  },
  'Saves / 401 signed out': async (t, w) => {
    const { url } = await w.game()
    const refused = { status: 401, body: { error: { code: 'unauthorized' }, signIn: '/auth/service/start' } }
    t.match(await w.get(`${url}/__service/saves/made`), refused)
  },
  'Saves / key': async (t, w) => {
    for (const key of ['a', 'A.b_c-9', 'k'.repeat(64)]) t.equal((await put(w, key, '1')).status, 201, key)
    for (const key of ['.a', 'a%20b', 'a%2Fb', 'k'.repeat(65)])
      t.ok([400, 404].includes((await put(w, key, '1')).status), key)
  },

  'Scores / GET|PUT|DELETE /api/games/{id}/boards/{boardId}': documented(
    '/api/games/{id}/boards/{boardId}',
    ['get', 'put', 'delete'],
    async (t, w) => {
      const made = await board(w, 'whole', { order: 'asc', format: 'milliseconds', min: 1 })
      const defaults = { decimals: 0, keep: 'best', reset: 'never', max: null, writers: 'players' }
      const whole = { id: 'whole', title: 'Fastest', order: 'asc', format: 'milliseconds', min: 1, ...defaults }
      t.match(made.put, { status: 201, body: whole })
      const token = await w.token('games:read', 'games:write')
      t.match(await w.get(made.path, { token }), { status: 200, body: whole })
      const reader = await w.token('games:read')
      t.match(await w.http('PUT', made.path, { token: reader, body: { title: 'x' } }), {
        status: 403,
        body: { error: { message: 'API token is missing the games:write scope.' } },
      })
      t.equal((await w.http('DELETE', made.path, { token })).status, 204)
      t.equal((await w.get(made.path, { token })).status, 404)
    },
  ),
  'Scores / GET /api/games/{id}/boards': documented('/api/games/{id}/boards', ['get'], async (t, w) => {
    await board(w, 'listed')
    const { body } = await w.get(`/api/games/${(await w.game()).id}/boards`, { token: await w.token('games:read') })
    t.ok(body.boards.some(({ id }: { id: string }) => id === 'listed'))
  }),
  'Scores / POST /__service/scores/{board}': documented('/__service/scores/{board}', ['post'], async (t, w) => {
    await board(w, 'ranked')
    const first = { score: 7, best: 7, rank: 1, total: 1, improved: true, periodEndsAt: null }
    t.match(await submit(w, 'ranked', { score: 7, detail: { car: 'red' } }), { status: 200, body: first })
    t.match(await submit(w, 'ranked', { score: 5 }), { status: 200, body: { score: 5, best: 7, improved: false } })
  }),
  'Scores / GET /__service/scores/{board}': documented('/__service/scores/{board}', ['get'], async (t, w) => {
    await board(w, 'shown', { reset: 'daily' })
    await submit(w, 'shown', { score: 3, detail: [1] })
    const entry = { rank: 1, player: { sub: /^ply_/, name: 'Ada' }, score: 3, detail: [1], at: ISO }
    for (const query of ['', '?around=me', '?period=all', '?limit=1']) {
      const { status, body } = await inGame(w, 'GET', `/__service/scores/shown${query}`)
      t.match(
        { status, body },
        { status: 200, body: { total: 1, nextCursor: null, entries: [{ ...entry, me: true }] } },
        query,
      )
      t.match(body.me, entry)
    }
    const { url } = await w.game()
    const out = await w.get(`${url}/__service/scores/shown`)
    t.match(out.body, { entries: [{ ...entry, me: false }], me: null, periodEndsAt: ISO }, 'signed out')
  }),
  'Scores / GET /api/games/{id}/boards/{boardId}/scores': documented(
    '/api/games/{id}/boards/{boardId}/scores',
    ['get'],
    async (t, w) => {
      const { path } = await board(w, 'open')
      await submit(w, 'open', { score: 3 })
      t.match(await w.get(`${path}/scores`), { status: 200, body: { entries: [{ rank: 1, score: 3 }], me: null } })
      const { cookie } = await w.owner()
      t.match((await w.get(`${path}/scores`, { cookie })).body, { me: { score: 3 } }, 'with a session')
    },
  ),
  'Scores / GET /__service/scores.js': async (t, w) => {
    const { status, headers, body } = await inGame(w, 'GET', '/__service/scores.js')
    t.match({ status, headers }, { status: 200, headers: { 'content-type': /^text\/javascript/ } })
    t.match(String(body), /export\s*\{[^}]*\bboard\b/)
  },
  'Scores / 403 room_writes_only': async (t, w) => {
    await board(w, 'duels', { writers: 'room' })
    t.match(await submit(w, 'duels', { score: 1 }), { status: 403, body: { error: { code: 'room_writes_only' } } })
  },
  'Scores / min and max': async (t, w) => {
    await board(w, 'bounded', { min: 1, max: 10 })
    for (const score of [1, 10]) t.equal((await submit(w, 'bounded', { score })).status, 200)
    for (const score of [0, 11]) {
      t.match(await submit(w, 'bounded', { score }), { status: 400, body: { error: { code: 'score_out_of_range' } } })
    }
  },
  'Scores / detail': async (t, w) => {
    await board(w, 'detailed')
    t.equal((await submit(w, 'detailed', { score: 1, detail: 'x'.repeat(1022) })).status, 200, '1 KiB with its quotes')
    const refused = { status: 413, body: { error: { code: 'payload_too_large' } } }
    t.match(await submit(w, 'detailed', { score: 1, detail: 'x'.repeat(1023) }), refused)
  },
  'Scores / 401 signed out': async (t, w) => {
    await board(w, 'closed')
    const { url } = await w.game()
    const origin = new URL(url).origin
    const answer = await w.post(`${url}/__service/scores/closed`, { body: { score: 1 }, headers: { origin } })
    t.match(answer, { status: 401, body: { error: { code: 'unauthorized' } } })
  },
  'Scores / removal of an entry': documented(
    '/api/games/{id}/boards/{boardId}/scores/{playerId}',
    ['delete'],
    async (t, w) => {
      const { path } = await board(w, 'cleaned')
      await submit(w, 'cleaned', { score: 3 })
      const { id } = await w.owner()
      const token = await w.token('games:write')
      t.equal((await w.http('DELETE', `${path}/scores/${id}`, { token })).status, 204)
      t.match((await w.get(`${path}/scores`)).body, { total: 0, entries: [] })
      t.equal((await w.http('PUT', `${path}/excluded/${id}`, { token })).status, 204)
      t.match(await submit(w, 'cleaned', { score: 3 }), { status: 403, body: { error: { code: 'kept_off_board' } } })
    },
  ),
}

/** Most tests turn the limits of rates off. */
export const limited: Record<string, (t: Test) => Promise<void>> = {
  'Scores / 10 a minute': async (t) => {
    const w = await World.start(t, { limits: { rateLimits: true } })
    await board(w, 'often')
    for (let count = 0; count < 10; count++) t.equal((await submit(w, 'often', { score: count })).status, 200)
    const refused = await submit(w, 'often', { score: 11 })
    t.match(refused, { status: 429, body: { error: { code: 'rate_limited' } }, headers: { 'retry-after': /^\d+$/ } })
  },
}

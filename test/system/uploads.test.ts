// Bodies of every route, from outside: none may come as slowly as it likes, and the documentation says how slowly it may.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { formatBytes } from '../../core/pages/index.ts'
import { exchange, obtainCode } from '../kit/oauth.ts'
import { startPlatform } from '../kit/platform.ts'
import { until } from '../kit/until.ts'
import { build } from '../plugins/deploy/build.ts'

const CHANGES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

t.test('a form that is none is refused by every route that takes files', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const paths = [
    '/api/assets',
    '/assets/new',
    `/api/games/${game.id}/media`,
    `/games/${game.slug}/settings/media`,
    `/games/${game.slug}/deploys`,
    '/settings/picture',
  ]
  for (const path of paths)
    for (const [type, body] of [
      ['multipart/form-data', '{"file":""}'],
      ['multipart/form-data; boundary=', 'x'],
      ['multipart/form-data; boundary=x', 'no part'],
      [
        'multipart/form-data; boundary=x',
        '--x\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\ncut',
      ],
    ] as const) {
      const { status } = await player.request('POST', path, Buffer.from(body), { headers: { 'content-type': type } })
      t.equal(status, 400, `${path}: ${type} ${JSON.stringify(body)}`)
    }
})

t.test('no route waits long for a body that drips, whoever sends it', async (t) => {
  const platform = await startPlatform(t, {
    listen: true,
    config: { limits: { uploadWindowSeconds: 2, uploadsPerPlayer: 1000 } },
  })
  const { app, portal } = platform
  const player = await platform.admin()
  const game = await platform.game(player)
  const bytes = Buffer.from(Object.values(build('x'))[0] as string)
  const begun = await player.post('/api/deploy', {
    gameId: game.id,
    files: [{ path: 'index.html', size: 1_000_000, sha256: 'a'.repeat(64) }],
  })
  t.equal(begun.status, 200)
  const [upload] = begun.body.uploads
  const form = { redirect_uri: game.oauth.redirectUri, scope: 'profile saves' }
  const code = await obtainCode(player, game.oauth, form)
  const { body: tokens } = await exchange(platform.stranger, game.oauth, code, { redirect_uri: form.redirect_uri })
  const { token } = await platform.program(player)
  const cookie = [...player.cookiesOf()].map(([name, value]) => `${name}=${value}`).join('; ')

  const address = (url: string) =>
    url.includes(':sha256')
      ? upload.uploadUrl.slice(portal.length)
      : url.endsWith('/bundle')
        ? begun.body.bundle.url.slice(portal.length)
        : url
            .replace(/^\/api\/games\/:id/, `/api/games/${game.id}`)
            .replace(':slug', game.slug)
            .replace(':gameId', game.id)
            .replace(/:\w+|\*/g, '00000000000000000000000000')
  const routes = app.routeTable.entries.filter(({ method, origin }) => CHANGES.has(method) && origin !== 'game')
  t.ok(routes.length > 100 && routes.some(({ upload }) => upload))

  await Promise.all(
    routes.map(async ({ method, url, upload }) => {
      const socket = connect(Number(new URL(portal).port), '127.0.0.1')
      socket.on('error', () => {})
      t.teardown(() => socket.destroy())
      await once(socket, 'connect')
      const type =
        upload && !url.startsWith('/api/deploy') && url !== '/mcp'
          ? 'multipart/form-data; boundary=x'
          : 'application/json'
      const lines = [`${method} ${address(url)} HTTP/1.1`, `Host: ${new URL(portal).host}`, `Origin: ${portal}`]
      const bearer = url.startsWith('/api/saves') ? tokens.access_token : url === '/mcp' ? token : null
      lines.push(
        bearer ? `Authorization: Bearer ${bearer}` : `Cookie: ${cookie}`,
        `Content-Type: ${type}`,
        'Content-Length: 1000000',
      )
      let received = ''
      socket.on('data', (chunk) => (received += chunk))
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
      if (upload && type.startsWith('multipart')) {
        socket.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n')
      }
      const drip = setInterval(() => void (socket.writable && socket.write(bytes.subarray(0, 1))), 500)
      // `once` would reject on an error: a write may come after the server has closed the connection.
      await new Promise((closed) => socket.once('close', closed))
      clearInterval(drip)
      t.pass(`${method} ${url} has ended`)
      if (upload) t.match(received, /^HTTP\/1.1 408 /, `${method} ${url} is told why`)
    }),
  )
})

t.test('an honest player publishes while others hold as many uploads as they can', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const port = Number(new URL(platform.portal).port)
  const attack = async () => {
    const player = await platform.signUp()
    const game = await platform.game(player, { title: `Game of ${player.id}` })
    const cookie = [...player.cookiesOf()].map(([name, value]) => `${name}=${value}`).join('; ')
    const answers: string[] = []
    for (const path of [`/games/${game.slug}/deploys`, '/api/assets']) {
      for (let number = 0; number < 10; number++) {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => {})
        t.teardown(() => socket.destroy())
        await once(socket, 'connect')
        socket.on('data', (chunk) => answers.push(String(chunk).slice(9, 12)))
        const lines = [`POST ${path} HTTP/1.1`, `Host: ${new URL(platform.portal).host}`, `Origin: ${platform.portal}`]
        lines.push(`Cookie: ${cookie}`, 'Content-Type: multipart/form-data; boundary=x', 'Content-Length: 1000000')
        socket.write(
          `${lines.join('\r\n')}\r\n\r\n--x\r\nContent-Disposition: form-data; name="archive"; filename="a"\r\n\r\n`,
        )
      }
    }
    return answers
  }
  const attacks = await Promise.all([1, 2, 3, 4, 5, 6].map(attack))
  const player = await platform.signUp()
  const game = await platform.game(player, { title: 'Honest' })
  const { zipOf } = await import('../plugins/deploy/zip-writer.ts')
  const body = Buffer.concat([
    Buffer.from('--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'),
    zipOf({ 'index.html': 'hello' }),
    Buffer.from('\r\n--x--\r\n'),
  ])
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  t.equal((await player.post(`/games/${game.slug}/deploys`, body, { headers })).status, 303)
  for (const answers of attacks) {
    await until(() => answers.length >= 16)
    t.same(answers, Array(16).fill('429'), 'each of them was let begin four')
  }
})

t.test('the security model lists every route that takes a long body, with its limits', async (t) => {
  const { app } = await startPlatform(t)
  const text = readFileSync(join(import.meta.dirname, '../../docs/security-model.md'), 'utf8')
  const documented = [
    ...text.matchAll(/^\| `((?:POST|PUT|PATCH) \/\S+)` +\| +([^|]+?) +\| +([^|]+?) +\| +([^|]*?) *\|$/gm),
  ].map(([, route, bytes, atOnce, perMinute]) => `${route} ${bytes} ${atOnce} ${perMinute}`)
  const declared = app.routeTable.entries.flatMap(({ method, url, upload }) => {
    if (!upload) return []
    const short = upload.shortBytes ? ` above ${formatBytes(upload.shortBytes)}` : ''
    const atOnce = upload.atOnce
      ? `${upload.atOnce} a deploy`
      : `${app.config.limits.uploadsPerPlayer} a player${short}`
    const perMinute = upload.longPerMinute ? `${upload.longPerMinute}${short}` : ''
    return [`${method} ${url} ${formatBytes(upload.maxBytes)} ${atOnce} ${perMinute}`]
  })
  t.same(documented.sort(), declared.sort())
  const { uploadBytesPerSecond, uploadWindowSeconds } = app.config.limits
  t.ok(text.includes(`${uploadBytesPerSecond / 1024} KiB a second`))
  t.ok(text.includes(`${uploadWindowSeconds} seconds`))
})

import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { start, temporaryFolder } from '../bin/program.ts'
import { nginxCommand, proxyMissing, runProxy } from '../kit/proxy.ts'
import { freePort } from '../kit/server.ts'

t.test('a proxy reaches the platform over a Unix socket', { skip: proxyMissing('nginx') }, async (t) => {
  const folder = temporaryFolder(t)
  // The workers of nginx run as another user when the tests run as root.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const config = {
    listen: { socket: './yard.sock' },
    trustProxy: ['127.0.0.1'],
    portal: { url: `http://localhost:${port}` },
    games: { domain: `localhost:${port}` },
    limits: { requestsPerMinute: 5 },
    blender: { driver: 'none' },
  }
  writeFileSync(join(folder, 'gameyard.yaml'), JSON.stringify(config))
  const socket = join(folder, 'yard.sock')
  const killed = start(t, ['serve'], { cwd: folder })
  await killed.says('"ready"')
  t.equal(statSync(socket).mode & 0o777, 0o660)
  killed.process.kill('SIGKILL')
  await killed.ended
  t.ok(existsSync(socket), 'it is left behind')

  const server = start(t, ['serve'], { cwd: folder })
  await server.says('"ready"')
  chmodSync(socket, 0o666)
  const site = join(folder, 'site.conf')
  writeFileSync(
    site,
    `server {
      listen 127.0.0.1:${port};
      location / {
        proxy_pass http://unix:${socket};
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $http_x_visitor;
      }
    }`,
  )
  await runProxy(t, nginxCommand(folder, site), port)
  const ask = (path: string, visitor: string, host = `localhost:${port}`) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, 'x-visitor': visitor }
      request({ host: '127.0.0.1', port, path, headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on('error', reject)
        .end()
    })
  t.equal(await ask('/', '192.0.2.1'), 200)
  t.equal(await ask('/metrics', '192.0.2.1'), 403, 'a visitor of the proxy is not this machine')
  let last: number | undefined = 401
  for (let number = 0; number < 10 && last === 401; number++) last = await ask('/api/games', '192.0.2.2')
  t.equal(last, 429)
  t.equal(await ask('/api/games', '192.0.2.3'), 401, 'each visitor has limits of their own')

  server.process.kill('SIGTERM')
  t.equal((await server.ended).code, 0)
  t.notOk(existsSync(socket), 'a stop removes it')
})

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { definePlugin } from '../../../core/plugin.ts'
import { captureLog } from '../../kit/driver-context.ts'
import { startKernel } from '../../kit/kernel.ts'

t.test('no secret of a request reaches the log', async (t) => {
  const { log, lines } = captureLog()
  const plugin = definePlugin({ name: 'leaky' }, async (app) => {
    app.post('/api/leaky', { config: { auth: 'none' }, constraints: { origin: 'portal' } }, async (request) => {
      request.log.info(
        { req: request, body: request.body, headers: request.headers, password: 'secret-password' },
        'careless',
      )
      request.log.error({ err: new Error('broke') }, 'careless')
      throw new Error('broke for good')
    })
  })
  const app = await startKernel(t, { plugins: [plugin], log })
  await app.inject({
    method: 'POST',
    url: '/api/leaky?code=secret-code&state=secret-state',
    headers: { host: 'localhost:8080', authorization: 'Bearer secret-token', cookie: 'session=secret-cookie' },
    payload: { password: 'secret-password', client_secret: 'secret-client', token: 'secret-api-token' },
  })
  const text = JSON.stringify(lines())
  t.match(text, 'careless')
  t.match(text, 'broke for good', 'what went wrong is there')
  t.match(text, '/api/leaky')
  t.notMatch(text, /secret-(?!_)/)
})

t.test('one line a request: method, path, status, time, id', async (t) => {
  const { log, lines } = captureLog()
  const app = await startKernel(t, { log })
  const answer = await app.inject({ url: '/docs/api?code=secret', headers: { host: 'localhost:8080' } })
  const line = lines().find((entry) => entry.msg === 'request')
  t.match(line, { level: 'info', method: 'GET', path: '/docs/api', status: 200, reqId: answer.headers['x-request-id'] })
  t.type(line?.ms, 'number')
})

t.test('every line is on standard output, in order, however the process ends', async (t) => {
  const module = JSON.stringify(join(import.meta.dirname, '../../../core/observe/log.ts'))
  const run = (end: string) => {
    const program = `import { createLog } from ${module}
      const log = createLog('info')
      for (let line = 0; line < 3000; line++) log.info({ line, text: 'x'.repeat(line % 97) }, 'counted')
      ${end}`
    const node = [process.execPath, '--input-type=module', '--eval', program] as const
    return promisify(execFile)(node[0], node.slice(1), { maxBuffer: 8 * 1024 * 1024 }).catch((error) => error)
  }
  const ends = {
    'by itself': ['', undefined],
    'at once': ['process.exit(3)', 3],
    'a moment later': ["setTimeout(() => { log.info({ line: 3000 }, 'last'); process.exit(0) }, 150)", undefined],
    'by an error': ["throw new Error('broken')", 1],
  } as const
  for (const [name, [end, expected]] of Object.entries(ends)) {
    const { stdout, code } = await run(end)
    t.equal(code, expected, `${name}: exit code`)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line).line)
    t.strictSame(lines, [...Array(name === 'a moment later' ? 3001 : 3000).keys()], name)
  }
})

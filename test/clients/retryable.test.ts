// The server and its clients agree on what may be repeated.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { isPassing } from '../../clients/cli/api.ts'
import { ApiError, createClient } from '../../clients/sdk/index.ts'
import { FAILURES } from '../../drivers/ai/interface.ts'

t.test('a failure of AI that stays is asked once, by SDK and CLI, and one that passes again', async (t) => {
  let asked = 0
  let reason = ''
  const server = createServer((_request, response) => {
    asked++
    response.writeHead(502, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { code: 'upstream_error', message: 'It failed.' }, reason }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((done) => server.once('listening', done))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ baseUrl, token: 'x', retries: 1 })
  for (const [name, { passing }] of Object.entries(FAILURES)) {
    asked = 0
    reason = name
    const error = await client.generateText({ prompt: 'x' }).catch((error) => error)
    t.type(error, ApiError)
    t.match(error, { code: 'upstream_error', reason: name })
    t.equal(asked, passing ? 2 : 1, name)
    t.equal(isPassing(502, 'upstream_error', name), passing, `${name}, CLI`)
  }
})

// The server and its clients agree on what may be repeated.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { retryAfter as inBrowser } from '../../clients/browser/retry-after.ts'
import { isPassing } from '../../clients/cli/api.ts'
import { ApiError, createClient } from '../../clients/sdk/index.ts'
import { retryAfter } from '../../clients/sdk/retryable.ts'
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

t.test('Retry-After is a number or a date, and the clock of the server counts', async (t) => {
  const date = 'Wed, 25 Nov 2026 12:00:30 GMT'
  const now = Date.now()
  for (const [headers, seconds] of [
    [{}, null],
    [{ 'retry-after': '' }, null],
    [{ 'retry-after': '12' }, 12],
    [{ 'retry-after': '0.5' }, 0.5],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '-1' }, 0],
    [{ 'retry-after': date, date: 'Wed, 25 Nov 2026 12:00:00 GMT' }, 30],
    [{ 'retry-after': date, date: 'Wed, 25 Nov 2026 12:01:00 GMT' }, 0],
    [{ 'retry-after': new Date(now + 3_600_000).toUTCString(), date: 'today' }, 3600],
  ] as [Record<string, string>, number | null][]) {
    const found = retryAfter((name) => headers[name])
    if (headers.date !== 'today') t.equal(inBrowser({ headers: new Headers(headers) }), found)
    if (seconds === null) t.equal(found, null, JSON.stringify(headers))
    else t.ok(found !== null && Math.abs(found - seconds) < 60, `${JSON.stringify(headers)}: ${found}`)
    if (headers.date !== 'today' && found !== null) t.equal(found, seconds)
  }
})

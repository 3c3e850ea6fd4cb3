// `npx node bench/ai.ts`: the time that POST /api/ai/generate adds to a direct call of the provider. Both are called
// alternately in the same run, with CONCURRENT calls at once, over real sockets. The provider is a separate process
// that answers after DELAY_MS, plus or minus SPREAD_MS. With a constant delay, calls that once queued behind each other
// would do so for the whole run.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeToken } from '../test/kit/remote-sign-up.ts'
import { freePort } from '../test/kit/server.ts'

const CONCURRENT = Number(process.env.CONCURRENT ?? 50)
const REQUESTS = Number(process.env.REQUESTS ?? 2000)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
/** The average response time of a fast model, and its deviation. */
const DELAY_MS = Number(process.env.DELAY_MS ?? 500)
const SPREAD_MS = Number(process.env.SPREAD_MS ?? 25)
/** The fractional parts of its multiples fill 0 to 1 evenly, in a sequence that does not repeat. */
const GOLDEN = (Math.sqrt(5) - 1) / 2

if (process.argv[2] === 'provider') await provide()
else await measure()

async function provide(): Promise<void> {
  const completion = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'small',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello, player.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
  }
  let asked = 0
  const server = createServer((incoming, response) => {
    incoming.resume().on('end', async () => {
      asked++
      await sleep(DELAY_MS + SPREAD_MS * (2 * ((asked * GOLDEN) % 1) - 1))
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion))
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const provider = fork(import.meta.filename, ['provider'])
  const [providerPort] = (await once(provider, 'message')) as [number]
  const port = await freePort()
  const yaml = `listen: { port: ${port} }
limits: { rateLimits: false }
log: { level: warn }
plugins: { billing: { signUpCredits: 1000000 } }
ai: { driver: openai-compatible, baseUrl: "http://127.0.0.1:${providerPort}/v1", models: { text: small } }
`
  writeFileSync(join(folder, 'gameyard.yaml'), yaml)
  const server = fork(resolve(import.meta.dirname, '../bin/gameyard.js'), ['serve'], { cwd: folder, stdio: 'ignore' })
  try {
    const portal = `http://localhost:${port}`
    for (let tries = 0; !(await fetch(`${portal}/readyz`).catch(() => null))?.ok; tries++) {
      if (tries > 300) throw new Error('The server did not come up.')
      await sleep(100)
    }
    const token = await makeToken(portal, ['ai:generate'])
    const direct = { port: providerPort, path: '/v1/chat/completions', headers: {} }
    const through = {
      port,
      path: '/api/ai/generate',
      headers: { host: `localhost:${port}`, authorization: `Bearer ${token}` },
    }
    const bodies = {
      direct: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'Greet.' }] }),
      through: JSON.stringify({ type: 'text', prompt: 'Greet.', maxOutputTokens: 1000 }),
    }
    await load(through, bodies.through, 200)
    await load(direct, bodies.direct, 200)
    const rows: string[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      const base = await load(direct, bodies.direct, REQUESTS)
      const ours = await load(through, bodies.through, REQUESTS)
      const cell = (value: number) => value.toFixed(1)
      rows.push(
        `| ${round} | ${cell(base.p50)} | ${cell(ours.p50)} | **${cell(ours.p50 - base.p50)}** | ${cell(base.p99)} | ${cell(ours.p99)} | **${cell(ours.p99 - base.p99)}** |`,
      )
    }
    const machine = `${cpus()[0]?.model} × ${cpus().length}, ${release()}, load average ${loadavg()[0]?.toFixed(1)}`
    process.stdout.write(`${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${machine}
${CONCURRENT} at once, ${REQUESTS} requests a round, the provider answers after ${DELAY_MS} ± ${SPREAD_MS} ms; milliseconds

| round | direct p50 | Gameyard p50 | added p50 | direct p99 | Gameyard p99 | added p99 |
| ----: | ---------: | -----------: | --------: | ---------: | -----------: | --------: |
${rows.join('\n')}
`)
  } finally {
    provider.kill()
    server.kill('SIGTERM')
    if (server.exitCode === null) await once(server, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Target {
  port: number
  path: string
  headers: Record<string, string>
}

/**
 * Sends `count` requests, `CONCURRENT` at once, distributed over time like those of independent callers. @returns ms
 */
async function load(
  { port, path, headers }: Target,
  body: string,
  count: number,
): Promise<{ p50: number; p99: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENT })
  const times: number[] = []
  let left = count
  const ask = () =>
    new Promise<void>((done, fail) => {
      const started = performance.now()
      const asked = request(
        {
          host: '127.0.0.1',
          port,
          path,
          method: 'POST',
          agent,
          headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
        },
        (response) => {
          if (response.statusCode !== 200) fail(new Error(`${path} answered ${response.statusCode}`))
          response.resume().on('end', () => {
            times.push(performance.now() - started)
            done()
          })
        },
      )
      asked.on('error', fail).end(body)
    })
  await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      await sleep(Math.random() * DELAY_MS)
      while (left-- > 0) await ask()
    }),
  )
  agent.destroy()
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor(times.length * part)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

// Tests malicious files: each is refused with a clear error, leaves no data, and does not delay other requests.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ALL, amount } from '../../kit/extent.ts'
import { makeToken } from '../../kit/remote-sign-up.ts'
import { startServer } from '../../kit/server.ts'
import { until } from '../../kit/until.ts'
import { ask } from '../../kit/upload.ts'
import { hostileArchives, hostileModels } from './hostile-models.ts'
import { form } from './kit.ts'
import { sheet } from './models.ts'

/** The upload limit, which is low so that exceeding it is cheap. */
const MOST = 64 * 1024 * 1024
/** Models whose check takes a second or more. Of each kind, the short form uploads another one. */
const LARGE = ['JSON a million objects deep', 'JSON with five million numbers', 'a million nodes']
/** The limit for the additional memory that all refusals may use, including the worker's own heap. */
const MEMORY_MIB = 400

t.test('hostile uploads are refused one by one, and leave nothing behind', async (t) => {
  const server = await startServer(t, {
    config: { limits: { assetBytes: MOST, assetPackBytes: MOST, rateLimits: false } },
  })
  const { portal, port } = server
  const pid = server.process.pid as number
  const token = await makeToken(portal, ['assets:read', 'assets:write'])
  const authorization = `Bearer ${token}`
  const post = (payload: Buffer, headers: Record<string, string>) =>
    ask('POST', `${portal}/api/assets`, { headers: { authorization, ...headers }, body: payload })
  const upload = (file: Uint8Array, name: string, fields: Record<string, string> = {}) => {
    const { payload, headers } = form(file, fields, name)
    return post(payload, headers)
  }
  const refused = (what: string, { status, body }: Awaited<ReturnType<typeof ask>>) => {
    t.ok(status >= 400 && status < 500, `${what}: ${status} ${JSON.stringify(body).slice(0, 200)}`)
    t.match(body, { error: { message: /^.{10,400}$/s, code: /^[a-z_]+$/ } }, `${what}: in the one shape`)
    t.same(Object.keys(body), ['error'], `${what}: and nothing else`)
    t.notMatch(
      JSON.stringify(body),
      /[ (]\/(?:work|tmp|root|home)|node_modules|\bat .*\.ts\b/,
      `${what}: of our insides`,
    )
  }
  /** The files of a stalled upload so far, which must not remain. */
  let arrived: string[] = []
  /** Returns the files in the data folder that an upload could have left. */
  const left = () => onDisk().filter((file) => !arrived.includes(file))
  const onDisk = () =>
    ['uploads', 'blobs/assets', 'blobs/~incoming'].flatMap((folder) => {
      const path = join(server.folder, 'data', folder)
      const entries = existsSync(path) ? readdirSync(path, { recursive: true, withFileTypes: true }) : []
      return entries.filter((entry) => entry.isFile()).map(({ name }) => `${folder}/${name}`)
    })
  const nothingKept = async (what: string) => {
    t.ok(await until(() => left().length === 0), `${what}: no file of it stays`)
    const { body } = await ask('GET', `${portal}/api/assets?owner=me`, { headers: { authorization } })
    t.same(body.assets, [], `${what}: nor a row`)
  }

  let asked = 0
  const listener = createServer((_request, response) => {
    asked++
    response.end()
  })
  await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done))
  t.teardown(() => listener.close())
  const good = await sheet(4)
  const models = hostileModels(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`)
  const archives = hostileArchives(good)

  // Another client sends requests all the time.
  let waits = 0
  let over = false
  const somebody = (async () => {
    while (!over) {
      const { status } = await ask('GET', `${portal}/api/assets`)
      if (status !== 200) throw new Error(`Somebody else was answered ${status}.`)
      waits++
      await sleep(20)
    }
  })()
  // This upload stops midway and keeps its socket open until the end of the test.
  const standing = raw(port, head(authorization, 100_000) + PART)
  await until(() => {
    arrived = onDisk()
    return arrived.length > 0
  })
  const before = peakMiB(pid)

  if (!ALL) for (const what of LARGE) delete models[what]
  for (const [what, bytes] of Object.entries(models)) refused(what, await upload(bytes, 'model.glb'))
  await nothingKept('models')
  t.equal(asked, 0, 'no address in a model was followed')
  for (const [what, bytes] of Object.entries(archives)) refused(what, await upload(bytes, 'pack.zip'))
  await nothingKept('archives')
  const all = Object.entries({ ...models, ...archives })
  const answers = await Promise.all(all.slice(0, amount(6, 24)).map(([what, bytes]) => upload(bytes, `${what}.glb`)))
  t.ok(
    answers.every(({ status }) => status >= 400 && status < 500),
    'all at once as well',
  )

  const { payload, headers } = form(good)
  const type = headers['content-type']
  const text = payload.toString('latin1')
  for (const [what, body, contentType] of [
    ['no form', '{}', 'application/json'],
    ['a form without a boundary', text, 'multipart/form-data'],
    ['a form with another boundary', text, 'multipart/form-data; boundary=other'],
    ['a form without its end', text.slice(0, -20), type],
    ['a form that ends in a head', text.slice(0, 90), type],
    ['a form of nothing', '', type],
    ['two files', text.replace(/--\r\n$/, `\r\n${text}`), type],
    ['a field of the prototype', field('__proto__', 'x') + text, type],
    ['another field of the prototype', field('constructor', 'x') + text, type],
    ['a field of a megabyte', field('title', 'x'.repeat(1_000_000)) + text, type],
    ['a hundred fields', Array.from({ length: 100 }, (_, index) => field(`f${index}`, 'x')).join('') + text, type],
    ['a part with a head without end', `--${BOUNDARY}\r\nx: ${'x'.repeat(200_000)}`, type],
  ] as const) {
    refused(what, await post(Buffer.from(body, 'latin1'), { 'content-type': contentType }))
  }
  await nothingKept('forms')

  refused('5 GiB announced', answerOf(await raw(port, head(authorization, 5 * 1024 ** 3)).answer))
  const beyond = answerOf(await endless(port, authorization))
  refused('more than the limit, unannounced', beyond)
  t.equal(beyond.status, 413)
  for (const at of [0.01, 0.3, 0.7, 0.99]) {
    const whole = Buffer.concat([Buffer.from(head(authorization, payload.length)), payload])
    const cut = raw(port, whole.subarray(0, whole.length * at))
    await sleep(100)
    cut.socket.destroy()
  }
  await nothingKept('cut uploads')
  refused('an upload that stands still', answerOf(await standing.answer))
  arrived = []
  await nothingKept('an upload that stands still')

  over = true
  await somebody
  t.ok(waits > 0, `${waits} others were answered meanwhile`)
  const grown = peakMiB(pid) - before
  t.comment(`memory grew by ${grown.toFixed(0)} MiB at most`)
  t.ok(grown < MEMORY_MIB, `memory is bounded: ${grown.toFixed(0)} MiB`)
  t.match(
    await upload(good, 'good.glb'),
    { status: 201, body: { kind: 'model' } },
    'a good one is taken in after all that',
  )
})

const BOUNDARY = 'gameyard-test-boundary'
const PART = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a.glb"\r\n\r\nglTF`
const field = (name: string, value: string) =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

const head = (authorization: string, length: number | null) =>
  `POST /api/assets HTTP/1.1\r\nhost: HOST\r\nauthorization: ${authorization}\r\n` +
  `content-type: multipart/form-data; boundary=${BOUNDARY}\r\n` +
  `${length === null ? 'transfer-encoding: chunked' : `content-length: ${length}`}\r\n\r\n`

/** Writes to a new socket. `answer` is the complete response when the other side has ended. */
function raw(port: number, text: string | Buffer) {
  const socket = connect(port, '127.0.0.1')
  let came = ''
  socket.on('data', (chunk) => (came += chunk))
  socket.on('error', () => {})
  const answer = new Promise<string>((done) => socket.on('close', () => done(came)))
  socket.write(Buffer.from(text.toString('latin1').replace('HOST', `localhost:${port}`), 'latin1'))
  return { socket, answer }
}

/** Sends a file in chunks until the server ends the connection. */
async function endless(port: number, authorization: string): Promise<string> {
  const { socket, answer } = raw(port, head(authorization, null))
  const chunk = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  socket.write(chunk(Buffer.from(PART)))
  const million = chunk(Buffer.alloc(1024 * 1024))
  let sent = 0
  while (!socket.destroyed && !socket.readableEnded && sent < MOST + 64 * 1024 * 1024) {
    sent += million.length
    if (!socket.write(million)) await Promise.race([new Promise((done) => socket.once('drain', done)), answer])
  }
  socket.end()
  return answer
}

function answerOf(text: string): Awaited<ReturnType<typeof ask>> {
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
  const json = text.slice(text.indexOf('\r\n\r\n')).match(/\{.*\}/s)?.[0] ?? '{}'
  return { status, body: JSON.parse(json), headers: {} }
}

/** Returns the peak memory of a process. */
const peakMiB = (pid: number) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

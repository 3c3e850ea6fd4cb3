import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Protocol } from './conformance/protocols.ts'
import { type AiServer, json, PNG, type Script, startAiServer } from './conformance/server.ts'
import { type AiProvider, ProviderError, type ProviderFault } from './interface.ts'

/** The parts of a driver that the suite needs. */
export interface AiSubject {
  /** The driver's name, shown in the results. */
  name: string
  /**
   * Creates a driver that calls the provider at `url`, with `SECRET` as its credential and one model of each supported
   * type.
   */
  create(url: string): Promise<AiProvider>
  /** The protocol of the provider. */
  protocol: Protocol
}

/** The credential, which only the provider may see. */
export const SECRET = 'sk-conformance-0123456789abcdef'

/** Part of every refusal. The tests detect a driver that passes on the provider's text. */
const WORDS = `The key ${SECRET} of org-1234 is over its quota.`

/**
 * The contract of `AiProvider` as tests (for tap), against a real HTTP server whose answers the suite writes:
 *
 *     testAiDriver({ name: 'openai', create: (url) => openai.create(config(url), context), protocol: openaiProtocol })
 */
export function testAiDriver({ name, create, protocol }: AiSubject): void {
  t.test(`ai driver ${name}`, async (t) => {
    const server = await startAiServer(t, protocol.text('Hello.', 3))
    const provider = await create(server.url)
    t.teardown(() => provider.close())
    const [model = ''] = provider.models.text
    const request = { model, prompt: 'Greet.', system: 'You are a gatekeeper.', maxOutputTokens: 100, temperature: 0.5 }
    const forever = () => AbortSignal.timeout(30_000)
    const last = () => protocol.asked(server.requests.at(-1) as never)

    await t.test('a text: what was asked reaches the provider, what it said comes back', async (t) => {
      server.answer = protocol.text('Grüße, 世界 🎮', 7)
      t.same(await provider.text(request, forever()), { text: 'Grüße, 世界 🎮', finish: 'complete', outputTokens: 7 })
      t.match(last(), request)
      await provider.text({ model, prompt: 'Greet.', maxOutputTokens: 5 }, forever())
      t.match(last(), { prompt: 'Greet.', maxOutputTokens: 5, system: undefined, temperature: undefined })
    })

    await t.test('a streamed text comes piece by piece, then its count', async (t) => {
      server.answer = protocol.stream(['Once ', 'upon ', 'a time.'], 9)
      const { pieces, end } = await read(provider, request, forever())
      t.equal(pieces.join(''), 'Once upon a time.')
      t.ok(pieces.length > 1)
      t.same(end, { finish: 'complete', outputTokens: 9 })
    })

    await t.test('what a model thinks before its answer is not handed out, in one piece or in many', async (t) => {
      const answer = 'A tag like </think> may follow.'
      for (const thought of ['<think>\nHmm.\n</think>\n\n', ' <THINKING>a</THINKING><think>b</think>', '']) {
        server.answer = protocol.text(thought + answer, 7)
        t.equal((await provider.text(request, forever())).text, answer, thought)
        for (const size of [1, 5, 1000]) {
          const pieces = (thought + answer).match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
          server.answer = protocol.stream(pieces, 9)
          t.equal((await read(provider, request, forever())).pieces.join(''), answer, `${thought} in ${pieces.length}`)
        }
      }
      for (const text of ['  if (x)', '<', '<thin', '<p>Hello</p>', '<b>']) {
        server.answer = protocol.stream([...text], 9)
        t.equal((await read(provider, request, forever())).pieces.join(''), text, `${text} is no thought`)
      }
      for (const thought of ['<think>Only a thought', '<think>Only a thought</think>']) {
        server.answer = protocol.text(thought, 7)
        await fails(t, provider.text(request, forever()), 'invalid-answer')
        server.answer = protocol.stream([thought], 7)
        await fails(t, read(provider, request, forever()), 'invalid-answer')
      }
    })

    await t.test('a model that ends its thoughts without opening them is known from then on', async (t) => {
      const own = await create(server.url)
      server.answer = protocol.text('Hmm.\n</think>\n\nHail!', 7)
      t.equal((await own.text(request, forever())).text, 'Hail!')
      server.answer = protocol.stream(['Hm', 'm.\n</th', 'ink>\n', '\nHa', 'il!'], 7)
      t.same((await read(own, request, forever())).pieces, ['Ha', 'il!'])
      server.answer = protocol.stream(['Ha', 'il!'], 7)
      t.same((await read(own, request, forever())).pieces, ['Hail!'], 'an answer without a thought waits for its end')
      server.answer = protocol.text('Hmm', 7, true)
      await fails(t, own.text(request, forever()), 'cut', 'cut within the thought')
      await own.close()
    })

    await t.test('a count of zero is that of a provider which does not count', async (t) => {
      server.answer = protocol.text('Hello.', 0)
      t.same(await provider.text(request, forever()), { text: 'Hello.', finish: 'complete', outputTokens: null })
      server.answer = protocol.stream(['Hel', 'lo.'], 0)
      t.same((await read(provider, request, forever())).end, { finish: 'complete', outputTokens: null })
      server.answer = protocol.text('[1]', 0)
      t.same(await provider.object(request, forever()), { object: [1], outputTokens: null })
    })

    await t.test('a text that was cut says so, and one without content has no other reason', async (t) => {
      server.answer = protocol.text('Once upon a', 7, true)
      t.match(await provider.text(request, forever()), { text: 'Once upon a', finish: 'length' })
      server.answer = protocol.text('<think>Hmm', 7, true)
      await fails(t, provider.text(request, forever()), 'cut')
    })

    await t.test('an object is parsed; with a schema, the provider is told it', async (t) => {
      const [model = ''] = provider.models.object
      const schema = { type: 'object', properties: { hitPoints: { type: 'integer' } }, required: ['hitPoints'] }
      server.answer = protocol.text('{"hitPoints": 12}', 6)
      const answer = await provider.object({ ...request, model, schema }, forever())
      t.same(answer, { object: { hitPoints: 12 }, outputTokens: 6 })
      t.match(JSON.stringify(server.requests.at(-1)?.body), /hitPoints/)
      for (const answer of [
        '```json\n[1, 2]\n```',
        'Here it is:\n```JSON\n[1, 2]\n```\nEnjoy!',
        '<think>\nIs it {"a": 1}?\n</think>\n\n[1, 2]',
        'Is it {"a": 1}?\n</think>\n[1, 2]',
        '\uFEFFSure: [1, 2]',
      ]) {
        server.answer = protocol.text(answer, 6)
        t.same((await provider.object({ ...request, model }, forever())).object, [1, 2], answer)
      }
      for (const text of ['Sorry.', '{"hitPoints": ', '{"hitPoints": 1} or {"hitPoints": 2}']) {
        server.answer = protocol.text(text, 6)
        await fails(t, provider.object({ ...request, model, schema }, forever()), 'no-object', text)
      }
      server.answer = protocol.text('1', 6, true)
      await fails(t, provider.object({ ...request, model, schema }, forever()), 'cut')
    })

    await t.test('an image is what its bytes say', async (t) => {
      const [model = ''] = provider.models.image
      const { image } = protocol
      if (!image) return t.equal(model, '', 'it offers none')
      const drawing = { model, prompt: 'A red dot.', imageSize: '1K', aspectRatio: '16:9' } as const
      server.answer = image(PNG.toString('base64'))
      const { bytes, contentType } = await provider.image(drawing, forever())
      t.same(Buffer.from(bytes), PNG)
      t.equal(contentType, 'image/png')
      for (const base64 of ['', Buffer.from('<svg onload="alert(1)">').toString('base64')]) {
        server.answer = image(base64)
        await fails(t, provider.image(drawing, forever()), 'invalid-answer')
      }
    })

    await t.test('what a provider does wrong is told in our words, and not by its own', async (t) => {
      for (const [title, script, reason] of faults(protocol)) {
        server.answer = script
        const error = await fails(t, provider.text(request, forever()), reason, title)
        t.notMatch(revealed(error), /conformance-0123|org-1234|gatekeeper/, `${title}: nothing is given away`)
        if (title.includes('streamed')) continue
        await fails(t, read(provider, request, forever()), reason, `${title}, streaming`)
      }
    })

    await t.test('a stream that breaks off is an error, and no short text', async (t) => {
      server.answer = protocol.stream(['Once ', 'upon '], 9, false)
      await fails(t, read(provider, request, forever()), 'invalid-answer')
      server.answer = (asked, response) => {
        const end = response.end.bind(response)
        response.end = (() => setTimeout(() => response.destroy(), 50) && response) as typeof end
        return protocol.stream(['Once ', 'upon '], 9, false)(asked, response)
      }
      await t.rejects(read(provider, request, forever()), { code: 'upstream_error' })
    })

    await t.test('who is busy is asked again before anything was generated, and never after', async (t) => {
      const attempts = async (script: Script, failures: number) => {
        let count = 0
        server.answer = (asked, response) =>
          ++count <= failures ? script(asked, response) : protocol.text('At last.', 2)(asked, response)
        const result = await provider.text(request, forever()).catch((error) => error)
        return { count, result }
      }
      t.match(await attempts(json({}, 429), 1), { count: 2, result: { text: 'At last.' } })
      t.match(await attempts(json({}, 503, { 'retry-after': '0' }), 2), { count: 3, result: { text: 'At last.' } })
      for (const script of [json({}, 500), json({}, 400), json({}, 401), protocol.text('', 0)])
        t.match(await attempts(script, 1), { count: 1, result: { code: 'upstream_error' } })
      const long = await attempts(json({}, 429, { 'retry-after': '3600' }), 1)
      t.match(long, { count: 1, result: { reason: 'busy', headers: { 'retry-after': '3600' } } })
    })

    await t.test('an abort ends a call that hangs or trickles, with its reason, and hangs up', async (t) => {
      const trickle: Script = async (asked, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        while (!asked.aborted) {
          response.write(' ')
          await sleep(20)
        }
      }
      for (const script of [(() => {}) as Script, trickle]) {
        server.answer = script
        for (const call of [
          (signal: AbortSignal) => provider.text(request, signal),
          (signal: AbortSignal) => read(provider, request, signal),
        ]) {
          const abort = new AbortController()
          const reason = new Error('enough')
          const before = server.requests.length
          const ended = t.rejects(async () => call(abort.signal), { message: 'enough' })
          await until(() => server.requests.length > before)
          abort.abort(reason)
          await ended
          await until(() => server.requests.at(-1)?.aborted === true)
          t.ok(server.requests.at(-1)?.aborted, 'the provider was hung up on')
        }
      }
    })

    await t.test('it follows nobody to another server', async (t) => {
      const other = await startAiServer(t, protocol.text('Elsewhere.', 1))
      server.answer = (_asked, response) =>
        response.writeHead(307, { location: `${other.url}/v1/chat/completions` }).end()
      await t.rejects(provider.text(request, forever()), { code: 'upstream_error' })
      t.equal(other.requests.length, 0)
    })
  })
}

const faults = (protocol: Protocol): [title: string, script: Script, reason: ProviderFault][] => {
  const refusal = { error: { message: WORDS, type: 'error', code: 1, status: 'X' } }
  return [
    ['400', json(refusal, 400), 'refused'],
    ['401', json(refusal, 401), 'wrong-key'],
    ['402', json(refusal, 402), 'no-money'],
    ['403', json(refusal, 403), 'wrong-key'],
    ['404', json(refusal, 404), 'misconfigured'],
    ['429', json(refusal, 429, { 'retry-after': '120' }), 'busy'],
    ['500', json(refusal, 500), 'failed'],
    ['500 as text', (_asked, response) => response.writeHead(500).end(WORDS), 'failed'],
    ['nothing but 200', (_asked, response) => response.writeHead(200).end(), 'invalid-answer'],
    ['200 with an error page', (_asked, response) => response.writeHead(200).end(`<p>${WORDS}</p>`), 'invalid-answer'],
    ['truncated JSON', (_asked, response) => response.writeHead(200).end('{"choices": [{"mess'), 'invalid-answer'],
    ['connection reset', (_asked, response) => response.destroy(), 'unreachable'],
    ['empty text, not streamed', protocol.text('', 0), 'invalid-answer'],
  ]
}

async function read(provider: AiProvider, request: Parameters<AiProvider['streamText']>[0], signal: AbortSignal) {
  const pieces: string[] = []
  const stream = provider.streamText(request, signal)
  for (;;) {
    const next = await stream.next()
    if (next.done) return { pieces, end: next.value }
    pieces.push(next.value)
  }
}

async function fails(t: Tap, call: Promise<unknown>, reason: ProviderFault, title: string = reason): Promise<unknown> {
  const error = await call.then(
    () => null,
    (error) => error,
  )
  t.match(error, { reason, code: 'upstream_error', statusCode: 502 }, title)
  t.ok(error instanceof ProviderError, title)
  return error
}

type Tap = Pick<typeof t, 'match' | 'ok'>

/** Everything that a log or a response could show of an error. */
const revealed = (error: unknown): string => {
  const { message, stack, cause } = error as Error
  return [message, stack, JSON.stringify(error), cause === undefined ? '' : revealed(cause)].join('\n')
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!condition() && Date.now() < deadline) await sleep(5)
}

export type { AiServer }

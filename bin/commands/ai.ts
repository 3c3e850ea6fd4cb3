import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Api } from '../../clients/cli/api.ts'
import type { HttpAnswer } from '../../clients/cli/http.ts'
import type { Terminal } from '../../clients/cli/terminal.ts'
import { type Client, type ClientOptions, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

interface GenerateOptions extends ClientOptions {
  type?: 'text' | 'object' | 'image'
  system?: string
  schema?: string
  model?: string
  game?: string
  maxOutputTokens?: number
  temperature?: number
  aspectRatio?: string
  imageSize?: string
  output?: string
  overwrite?: true
}

interface Generated {
  id: string
  type: 'text' | 'object' | 'image'
  model: string
  result: unknown
  finish: 'complete' | 'length' | 'filtered'
  creditsUsed: number
  balance: number
}

interface Credits {
  balance: number
  /** Absent on older platforms. */
  debt?: number
  ledger: { amount: number; kind: string; description: string; createdAt: string }[]
}

export function configure(ai: Command, installation: Installation): void {
  ai.description('Generates text, objects and pictures with AI, for credits. A failure costs nothing.').addHelpText(
    'after',
    `
Examples:
  gameyard ai generate "Name five potions"
  gameyard ai generate "A potion" --schema potion.schema.json > potion.json
  gameyard ai generate "A potion, pixel art" --type image --output potion.png
  gameyard ai credits`,
  )
  withClientOptions(ai.command('generate'))
    .summary('make a text, an object or a picture')
    .description(
      'Generates from a prompt. Text and objects go to standard output, a text piece by piece as the model writes it; a picture goes into a file. The place of --output is checked before anything is paid. If it cannot be written in the end, the answer is in a temporary file, which the message names.',
    )
    .argument('<prompt>', 'what to make; - reads it from standard input')
    .addOption(new Option('--type <type>', 'default: text; object with --schema').choices(['text', 'object', 'image']))
    .option('--system <text>', 'how to behave')
    .option('--schema <file>', 'JSON Schema of the object')
    .option('--model <name>', "one of the platform's models")
    .option('--game <game>', 'the game for its statistics: slug or id')
    .addOption(new Option('--max-output-tokens <number>', 'at most 16384; default 4096').argParser(positive))
    .addOption(new Option('--temperature <number>', '0 to 2').argParser(number))
    .option('--aspect-ratio <ratio>', 'of a picture, such as 16:9')
    .addOption(new Option('--image-size <size>', 'of a picture').choices(['1K', '2K']))
    .option('-o, --output <file>', 'where it goes (default: standard output; a picture goes into image.png)')
    .option('--overwrite', 'replace the file of --output')
    .action((prompt: string, options: GenerateOptions) =>
      runClient(options, installation, (client) => generate(client, prompt, options)),
    )
  withClientOptions(ai.command('credits'))
    .summary('show your credits, your debt and the ledger')
    .action((options: ClientOptions) => runClient(options, installation, credits))
}

function number(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('expected a number.')
  return Number(text)
}

async function generate(client: Client, text: string, options: GenerateOptions): Promise<void> {
  const [api, { readInput, readJson }, { usageError }, { checkTarget }] = await Promise.all([
    client.api(),
    import('../../clients/cli/json-input.ts'),
    import('../../clients/cli/errors.ts'),
    import('../../clients/cli/output-file.ts'),
  ])
  const { schema, system, model, game, maxOutputTokens, temperature, aspectRatio, imageSize, output } = options
  const type = options.type ?? (schema === undefined ? 'text' : 'object')
  if (schema !== undefined && type !== 'object') throw usageError('--schema goes with --type object.')
  const prompt = text === '-' ? await readInput('-') : text
  const fields = { type, prompt, system, model, gameId: game, maxOutputTokens, temperature, aspectRatio, imageSize }
  const body = {
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
    ...(schema === undefined ? {} : { schema: await readJson(schema) }),
  }
  if (output !== undefined) await checkTarget(output, options.overwrite === true)
  else if (type === 'image') await checkTarget('image.png', true)
  const { terminal } = client
  const answer = await request(client, api, body, {
    streams: type === 'text' && output === undefined && !terminal.json,
  })
  await hand(client, answer, options)
  const cost = `${answer.creditsUsed} ${answer.creditsUsed === 1 ? 'credit' : 'credits'}, ${answer.balance} left (${answer.model})`
  if (!terminal.json) terminal.note(terminal.styleNote('dim', cost))
}

/** Sends the request, and shows that it waits. A text that streams is written as it arrives. */
async function request(client: Client, api: Api, body: object, { streams }: { streams: boolean }): Promise<Generated> {
  const { randomUUID } = await import('node:crypto')
  const wait = showWaiting(client.terminal)
  const headers = { 'idempotency-key': randomUUID() }
  const options = { headers, repeatable: true, idleMs: IDLE_MS }
  try {
    if (!streams) return await api.post<Generated>('/api/ai/generate', body, options)
    return await readStream(
      client,
      await api.ask('POST', '/api/ai/generate', { ...options, body: { ...body, stream: true } }),
      wait,
    )
  } finally {
    wait.end()
  }
}

/** The longest silence of the platform: a model may load for 15 minutes. */
const IDLE_MS = 960_000

/** Writes the pieces of a text to standard output. @returns the answer, whose text is written already */
async function readStream({ terminal }: Client, { body }: HttpAnswer, wait: { end(): void }): Promise<Generated> {
  const [{ eventsOf }, { CliError }, { keepTemporarily }] = await Promise.all([
    import('../../clients/cli/event-stream.ts'),
    import('../../clients/cli/errors.ts'),
    import('../../clients/cli/output-file.ts'),
  ])
  let text = ''
  const cut = (cause?: unknown) =>
    new CliError('The answer was cut before its end.', {
      code: 'unreachable',
      hint: 'See whether it was paid: gameyard ai credits',
      cause,
    })
  try {
    for await (const { event, data } of eventsOf(body)) {
      wait.end()
      const said = JSON.parse(data)
      if (event === 'error') throw new CliError(said.error.message, { code: said.error.code })
      if (event === 'done') {
        terminal.deliver('\n', () => sayKept(terminal, keepTemporarily(text, 'answer.txt')))
        return { ...said, result: null }
      }
      text += said.delta
      terminal.deliver(said.delta, () => sayKept(terminal, keepTemporarily(text, 'answer.txt')))
    }
  } catch (error) {
    if (text !== '') terminal.deliver('\n', () => {})
    throw error instanceof CliError ? error : cut(error)
  }
  throw cut()
}

/** Puts an answer where it is wanted. It is paid, so it is kept elsewhere if that fails. */
async function hand({ terminal }: Client, answer: Generated, { output, overwrite }: GenerateOptions): Promise<void> {
  const { freeName, keepTemporarily, writePaid } = await import('../../clients/cli/output-file.ts')
  const { type, result } = answer
  if (type === 'image') {
    const { b64Json, contentType } = result as { b64Json: string; contentType: string }
    const extension = { 'image/jpeg': 'jpg', 'image/webp': 'webp' }[contentType] ?? 'png'
    const file = output ?? (await freeName('image', extension))
    await writePaid(file, Buffer.from(b64Json, 'base64'), overwrite === true)
    const { result: _, ...rest } = answer
    terminal.result({ ...rest, file }, () => `Saved ${file}`)
    return
  }
  if (result === null && type === 'text') return
  const text = `${type === 'text' ? result : JSON.stringify(result, null, 2)}\n`
  if (output !== undefined) {
    await writePaid(output, text, overwrite === true)
    terminal.result({ ...answer, file: output }, () => `Saved ${output}`)
    return
  }
  const shown = terminal.json ? `${JSON.stringify(answer, null, 2)}\n` : text
  const name = terminal.json || type === 'object' ? 'answer.json' : 'answer.txt'
  terminal.deliver(shown, () => sayKept(terminal, keepTemporarily(shown, name)))
}

function sayKept(terminal: Terminal, file: string | null): void {
  if (file !== null) terminal.note(`The answer is in ${file}`)
}

/** Shows on a terminal for how long the platform has been asked. @returns `end` removes it, and may be called again */
function showWaiting(terminal: Terminal): { end(): void } {
  if (!terminal.interactive) return { end() {} }
  const began = performance.now()
  const draw = () => terminal.draw(`\r\x1b[2KGenerating… ${Math.round((performance.now() - began) / 1000)} s`)
  draw()
  const timer = setInterval(draw, 1000)
  let ended = false
  return {
    end() {
      if (ended) return
      ended = true
      clearInterval(timer)
      terminal.draw('\r\x1b[2K')
    },
  }
}

async function credits(client: Client): Promise<void> {
  const { terminal } = client
  const [api, { formatAgo }] = await Promise.all([client.api(), import('../../clients/cli/terminal.ts')])
  const found = await api.get<Credits>('/api/ai/credits')
  const now = new Date()
  terminal.result(found, () =>
    [
      `${terminal.style('bold', String(found.balance))} credits`,
      ...(found.debt ? [`You owe ${found.debt}. The next credits settle that first.`] : []),
      ...(found.ledger.length === 0
        ? []
        : [
            terminal.table(
              ['AMOUNT', 'KIND', 'WHEN', 'WHAT FOR'],
              found.ledger.map(({ amount, kind, description, createdAt }) => [
                amount > 0 ? `+${amount}` : String(amount),
                kind,
                formatAgo(createdAt, now),
                description,
              ]),
            ),
          ]),
    ].join('\n'),
  )
}

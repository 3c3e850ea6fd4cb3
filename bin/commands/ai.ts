import { type Command, InvalidArgumentError, Option } from 'commander'
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
    .description('Generates from a prompt. Text and objects go to standard output, a picture into a file.')
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
    .option('-o, --output <file>', 'where a picture goes (default: image.png)')
    .action((prompt: string, options: GenerateOptions) =>
      runClient(options, installation, (client) => generate(client, prompt, options)),
    )
  withClientOptions(ai.command('credits'))
    .summary('show your credits and the ledger')
    .action((options: ClientOptions) => runClient(options, installation, credits))
}

function number(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('expected a number.')
  return Number(text)
}

async function generate(client: Client, text: string, options: GenerateOptions): Promise<void> {
  const { terminal } = client
  const [api, { readInput, readJson }, { usageError }, { randomUUID }] = await Promise.all([
    client.api(),
    import('../../clients/cli/json-input.ts'),
    import('../../clients/cli/errors.ts'),
    import('node:crypto'),
  ])
  const { schema, system, model, game, maxOutputTokens, temperature, aspectRatio, imageSize, output } = options
  const type = options.type ?? (schema === undefined ? 'text' : 'object')
  if (schema !== undefined && type !== 'object') throw usageError('--schema goes with --type object.')
  if (output !== undefined && type !== 'image') {
    throw usageError('--output is for pictures.', 'Text and objects go to standard output: … > file')
  }
  const prompt = text === '-' ? await readInput('-') : text
  const fields = { type, prompt, system, model, gameId: game, maxOutputTokens, temperature, aspectRatio, imageSize }
  const body = {
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
    ...(schema === undefined ? {} : { schema: await readJson(schema) }),
  }
  if (terminal.interactive) terminal.draw('Generating…')
  const answer = await api
    .post<Generated>('/api/ai/generate', body, {
      headers: { 'idempotency-key': randomUUID() },
      repeatable: true,
      idleMs: 300_000,
    })
    .finally(() => terminal.interactive && terminal.draw('\r\x1b[2K'))
  const cost = `${answer.creditsUsed} ${answer.creditsUsed === 1 ? 'credit' : 'credits'}, ${answer.balance} left (${answer.model})`
  if (answer.type === 'image') {
    const file = await saveImage(answer.result as { b64Json: string; contentType: string }, output)
    const { result: _, ...rest } = answer
    terminal.result({ ...rest, file }, () => `Saved ${file}`)
  } else {
    terminal.result(answer, () =>
      answer.type === 'text' ? String(answer.result) : JSON.stringify(answer.result, null, 2),
    )
  }
  if (!terminal.json) terminal.note(terminal.styleNote('dim', cost))
}

async function saveImage(
  { b64Json, contentType }: { b64Json: string; contentType: string },
  output?: string,
): Promise<string> {
  const [{ writeFile }, { CliError, fileReason }] = await Promise.all([
    import('node:fs/promises'),
    import('../../clients/cli/errors.ts'),
  ])
  const extension = { 'image/jpeg': 'jpg', 'image/webp': 'webp' }[contentType] ?? 'png'
  const file = output ?? `image.${extension}`
  await writeFile(file, Buffer.from(b64Json, 'base64')).catch((error) => {
    throw new CliError(`${file} can't be written: ${fileReason(error)}.`, { hint: 'Name another place with --output.' })
  })
  return file
}

async function credits(client: Client): Promise<void> {
  const { terminal } = client
  const [api, { formatAgo }] = await Promise.all([client.api(), import('../../clients/cli/terminal.ts')])
  const found = await api.get<Credits>('/api/ai/credits')
  const now = new Date()
  terminal.result(found, () =>
    [
      `${terminal.style('bold', String(found.balance))} credits`,
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

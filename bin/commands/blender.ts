import { type Command, Option } from 'commander'
import type { Generation, Job, Warning } from '../../clients/cli/blender.ts'
import type { Saved } from '../../clients/cli/download.ts'
import { type Client, type ClientOptions, collect, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { type Studio, studio } from '../studio.ts'
import { health, starters, templates } from './blender-catalog.ts'

interface Work extends ClientOptions {
  script?: string
  param?: string[]
  wait?: true
}
interface CreateOptions extends Work {
  template?: string
  starter?: string[]
  prompt?: string
  visibility?: string
  game?: string
}
interface JobsOptions extends ClientOptions {
  status?: string
  game?: string
  limit: number
}
type ReviseOptions = Work & { action: string; name?: string }

export function configure(blender: Command, installation: Installation): void {
  const run = (options: ClientOptions, work: (client: Client) => Promise<void>) =>
    runClient(options, installation, work)
  const withWork = (command: Command) =>
    withClientOptions(command)
      .option('--script <file>', 'Python that runs inside Blender; - for standard input')
      .option('--param <name=value>', 'a parameter; once for each', collect)
      .option('--wait', 'wait until it is done, and fail if it fails')
  blender
    .description("Blender on the platform's machines makes models. The results become assets of yours.")
    .addHelpText(
      'after',
      `
Examples:
  gameyard blender templates
  gameyard blender create "Sea chest" --template prop --param kind=chest --param size=1.5 --wait
  gameyard blender create Knight --template humanoid --game my-game
  gameyard blender create Tower --script tower.py --wait --json | jq -r .assetId
  gameyard blender artifacts job_01K… preview.png --output preview.png
  gameyard blender revise job_01K… --script taller.py`,
    )

  withWork(blender.command('create'))
    .summary('make a model')
    .description('Makes a model from a template, starters, a script, or a prompt where the platform has an AI.')
    .argument('<name>', 'what the asset is called')
    .option('--template <id>', 'the scene to begin with, see `gameyard blender templates`')
    .option('--starter <id>', 'an object to add, see `gameyard blender starters`; once for each', collect)
    .option('--prompt <text>', 'what it should be, in words')
    .addOption(new Option('--visibility <who>', 'who sees the asset').choices(['public', 'private']))
    .option('--game <game>', 'a game that you make, whose makers see the job and the asset; slug or id')
    .action((name, options) => run(options, (client) => create(client, name, options)))

  withClientOptions(blender.command('jobs'))
    .summary('list your jobs, or those of a game')
    .option('--game <game>', 'those of this game that you make, of all its makers; slug or id')
    .addOption(
      new Option('--status <status>', 'only these').choices(['queued', 'running', 'completed', 'failed', 'cancelled']),
    )
    .addOption(new Option('--limit <number>', 'at most so many').argParser(positive).default(20))
    .action((options) => run(options, (client) => jobs(client, options)))

  withClientOptions(blender.command('watch'))
    .summary('follow a job to its end')
    .argument('<job>', 'its id, or the id of a generation from a prompt')
    .action((job, options) => run(options, (client) => watch(client, job)))

  withClientOptions(blender.command('log'))
    .summary('show what the script and Blender printed')
    .description('Shows the output of a job whose run is over: the last 65,536 characters.')
    .argument('<job>', 'its id, or that of a generation')
    .addOption(new Option('--tail <lines>', 'only so many of the last lines').argParser(positive))
    .action((job, options) => run(options, (client) => log(client, job, options)))

  withWork(blender.command('revise'))
    .summary('go on from a completed job')
    .description('Revises, renders, inspects or exports the result of a completed job, in a new job.')
    .argument('<job>', 'its id, or that of a generation')
    .addOption(
      new Option('--action <action>', 'what to do')
        .choices(['revise', 'render', 'inspect', 'export'])
        .default('revise'),
    )
    .option('--name <text>', 'what the new job is called')
    .action((job, options) => run(options, (client) => revise(client, job, options)))

  withClientOptions(blender.command('cancel'))
    .summary('stop a job')
    .argument('<job>', 'its id, or that of a generation')
    .action((job, options) => run(options, (client) => cancel(client, job)))

  withClientOptions(blender.command('artifacts'))
    .summary('list or download the results of a job')
    .argument('<job>', 'its id, or that of a generation')
    .argument('[name]', 'model.glb, preview.png, inspection.json or scene.blend')
    .option('-o, --output <file>', 'where to; a folder, or - for standard output')
    .option('--all <folder>', 'download all of them into a folder')
    .action((job, name, options) => run(options, (client) => artifacts(client, job, name, options)))

  withClientOptions(blender.command('templates'))
    .summary('list the scenes to begin with')
    .action((options) => run(options, templates))

  withClientOptions(blender.command('starters'))
    .summary('list the objects to build with')
    .action((options) => run(options, starters))

  withClientOptions(blender.command('health'))
    .summary('show whether Blender is there, and how busy')
    .action((options) => run(options, health))
}

async function workOf({ script, param }: Work): Promise<{ script?: string; parameters?: Record<string, unknown> }> {
  const { readInput, readPairs } = await import('../../clients/cli/json-input.ts')
  return {
    ...(script === undefined ? {} : { script: await readInput(script) }),
    ...(param === undefined ? {} : { parameters: readPairs(param) }),
  }
}

async function create(client: Client, name: string, options: CreateOptions): Promise<void> {
  const { template, starter, prompt, visibility, game } = options
  const [place, { randomUUID }] = await Promise.all([studio(client), import('node:crypto')])
  const body = {
    provider: 'blender',
    name,
    ...(template === undefined ? {} : { template }),
    ...(starter === undefined ? {} : { starters: starter }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(visibility === undefined ? {} : { visibility }),
    ...(game === undefined ? {} : { gameId: game }),
    ...(await workOf(options)),
  }
  const { api, origin } = place
  const { GENERATIONS } = await import('../../clients/cli/blender.ts')
  const generation = await api.post<Generation>(GENERATIONS, body, {
    origin,
    headers: { 'idempotency-key': randomUUID() },
    repeatable: true,
    idleMs: 180_000,
  })
  if (options.wait) return watchAsset(client, place, generation.id)
  client.terminal.result(generation, () =>
    generation.jobId === null
      ? `The script is being written.\nNext: gameyard blender watch ${generation.id}`
      : `Queued as ${generation.jobId}.\nNext: gameyard blender watch ${generation.jobId}`,
  )
}

/** Follows the creation of an asset to its end. @throws CliError unless the asset then exists */
async function watchAsset(client: Client, { api, origin }: Studio, id: string): Promise<void> {
  const { terminal, signal } = client
  const { watchGeneration } = await import('../../clients/cli/blender.ts')
  const line = progressLine(client)
  const { generation, job } = await watchGeneration(api, id, {
    origin,
    signal,
    told: ({ generation, job }) => {
      if (generation.status === 'writing') line.show(`${generation.name}: the script is being written`)
      else if (job && job.status !== 'completed') line.show(lineOf(job))
      else if (generation.status === 'running') line.show(`${generation.name}: the asset is being made`)
    },
  }).finally(line.erase)
  if (generation.status !== 'completed')
    throw await unfinished(client, generation.jobId ? `job ${generation.jobId}` : `generation ${id}`, generation, job)
  const warnings = job ? await warn(client, { api, origin }, job) : []
  terminal.result({ ...generation, job: job && { ...job, warnings } }, () =>
    [...(job ? [finished(job)] : []), `Next: gameyard assets get ${generation.assetId}`].join('\n'),
  )
}

async function jobs(client: Client, { status, game, limit }: JobsOptions): Promise<void> {
  const { terminal } = client
  const [{ api, origin }, { JOBS }, { formatAgo }] = await Promise.all([
    studio(client),
    import('../../clients/cli/blender.ts'),
    import('../../clients/cli/terminal.ts'),
  ])
  const found = await api.all<Job>(JOBS, 'jobs', { origin, limit, query: { status, gameId: game } })
  const now = new Date()
  terminal.result({ jobs: found }, () =>
    found.length === 0
      ? 'There are none.'
      : terminal.table(
          ['JOB', 'STATUS', 'ACTION', 'WHEN', 'NAME'],
          found.map((job) => [job.id, stateOf(job), job.action, formatAgo(job.timing.queuedAt, now), job.name]),
        ),
  )
}

const stateOf = ({ status, progress, queuePosition }: Job): string => {
  if (status === 'running') return `running ${Math.round(progress * 100)} %`
  return status === 'queued' && queuePosition !== null ? `queued (${queuePosition})` : status
}

/** Shows progress: one changing line on a terminal, one line for each step elsewhere, nothing with `--json`. */
function progressLine({ terminal }: Client): { show(text: string): void; erase(): void } {
  return {
    show(text) {
      if (terminal.interactive) terminal.draw(`\r\x1b[2K${text.slice(0, terminal.columns - 1)}`)
      else if (!terminal.json) terminal.note(text)
    },
    erase() {
      if (terminal.interactive) terminal.draw('\r\x1b[2K')
    },
  }
}

const lineOf = (job: Job): string => `${job.name}: ${stateOf(job)}${job.stage ? `, ${job.stage}` : ''}`

/** Follows a job to its end. @throws CliError unless the job completes */
async function follow(client: Client, { api, origin }: Studio, id: string): Promise<Job & { warnings: Warning[] }> {
  const { watchJob } = await import('../../clients/cli/blender.ts')
  const line = progressLine(client)
  const told = (job: Job) => line.show(lineOf(job))
  const job = await watchJob(api, id, { origin, told, signal: client.signal }).finally(line.erase)
  if (job.status !== 'completed') throw await unfinished(client, `job ${id}`, job, job)
  return { ...job, warnings: await warn(client, { api, origin }, job) }
}

/** Fetches the warnings of a job, and writes them to stderr unless the output is JSON. */
async function warn({ terminal }: Client, { api, origin }: Studio, job: Job): Promise<Warning[]> {
  const { warningsOf } = await import('../../clients/cli/blender.ts')
  const found = await warningsOf(api, job, origin)
  if (terminal.json) return found
  for (const { message } of found.slice(0, SHOWN_WARNINGS)) terminal.note(`Warning: ${message}`)
  if (found.length > SHOWN_WARNINGS)
    terminal.note(`${found.length - SHOWN_WARNINGS} more warnings are in inspection.json.`)
  return found
}

const SHOWN_WARNINGS = 20

/** Writes the end of the job's log to stderr, and returns the error that ends the command. */
async function unfinished(
  { terminal }: Client,
  what: string,
  { status, error }: Pick<Job, 'status' | 'error'> | Generation,
  job: Job | null,
): Promise<Error> {
  const { CliError } = await import('../../clients/cli/errors.ts')
  if (job?.log && !terminal.json) for (const line of job.log.trimEnd().split('\n')) terminal.note(`  ${line}`)
  const how = status === 'cancelled' ? 'was cancelled' : `failed: ${error?.message ?? 'no reason was given'}`
  return new CliError(`The ${what} ${how}`, {
    code: error?.code ?? status,
    ...(status === 'failed' ? { hint: 'Correct the script or the parameters, and submit it again.' } : {}),
  })
}

const finished = (job: Job): string =>
  `Completed ${job.name} in ${((job.timing.runMs ?? 0) / 1000).toFixed(1)} s: ${job.artifacts.map(({ name }) => name).join(', ')}`

async function watch(client: Client, id: string): Promise<void> {
  const place = await studio(client)
  if (id.startsWith('gen_')) return watchAsset(client, place, id)
  const job = await follow(client, place, id)
  client.terminal.result(job, () => `${finished(job)}\nNext: gameyard blender artifacts ${id} --all .`)
}

/** Returns the id of a job, also for the id of the generation that it works for. @throws CliError when it has none yet */
async function jobIdOf({ api, origin }: Studio, id: string): Promise<string> {
  if (!id.startsWith('gen_')) return id
  const [{ GENERATIONS }, { CliError }] = await Promise.all([
    import('../../clients/cli/blender.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const { jobId } = await api.get<Generation>(`${GENERATIONS}/${encodeURIComponent(id)}`, { origin })
  if (jobId !== null) return jobId
  throw new CliError(`${id} has no job yet: its script is being written.`, {
    code: 'no_job_yet',
    hint: `Follow it: gameyard blender watch ${id}`,
  })
}

async function revise(client: Client, named: string, options: ReviseOptions): Promise<void> {
  const [place, { JOBS }] = await Promise.all([studio(client), import('../../clients/cli/blender.ts')])
  const id = await jobIdOf(place, named)
  const { action, name } = options
  const body = { action, ...(name === undefined ? {} : { name }), ...(await workOf(options)) }
  const queued = await place.api.post<Job>(`${JOBS}/${encodeURIComponent(id)}/actions`, body, { origin: place.origin })
  if (!options.wait) {
    return client.terminal.result(queued, () => `Queued as ${queued.id}.\nNext: gameyard blender watch ${queued.id}`)
  }
  const job = await follow(client, place, queued.id)
  client.terminal.result(job, () => finished(job))
}

async function log(client: Client, named: string, { tail }: { tail?: number }): Promise<void> {
  const [place, { JOBS }, { textOf }] = await Promise.all([
    studio(client),
    import('../../clients/cli/blender.ts'),
    import('../../clients/cli/http.ts'),
  ])
  const path = `${JOBS}/${encodeURIComponent(await jobIdOf(place, named))}/log`
  const text = await textOf(await place.api.ask('GET', path, { origin: place.origin, query: { tail } }))
  client.terminal.result(
    { log: text },
    () => text.trimEnd() || 'There is no output: the run is not over, or printed nothing.',
  )
}

async function cancel(client: Client, named: string): Promise<void> {
  const [place, { JOBS }] = await Promise.all([studio(client), import('../../clients/cli/blender.ts')])
  const { api, origin } = place
  const id = await jobIdOf(place, named)
  const job = await api.post<Job>(`${JOBS}/${encodeURIComponent(id)}/cancel`, undefined, { origin, repeatable: true })
  client.terminal.result(job, () => `The job ${id} is ${job.status}.`)
}

async function artifacts(
  client: Client,
  named: string,
  name: string | undefined,
  { output, all }: { output?: string; all?: string },
): Promise<void> {
  const { terminal } = client
  const [place, { JOBS }, { formatBytes }, { save }] = await Promise.all([
    studio(client),
    import('../../clients/cli/blender.ts'),
    import('../../clients/cli/terminal.ts'),
    import('../../clients/cli/download.ts'),
  ])
  const { api, origin } = place
  const path = `${JOBS}/${encodeURIComponent(await jobIdOf(place, named))}/artifacts`
  const fetchOne = async (artifact: string, to: string | undefined) =>
    save(await api.ask('GET', `${path}/${encodeURIComponent(artifact)}`, { origin }), { to, name: artifact })
  if (name !== undefined) {
    const saved = await fetchOne(name, output)
    if (saved.file !== '-') terminal.result(saved, () => `Saved ${saved.file} (${formatBytes(saved.bytes)})`)
    return
  }
  const { artifacts: listed } = await api.get<{ artifacts: Job['artifacts'] }>(path, { origin })
  if (all === undefined) {
    return terminal.result({ artifacts: listed }, () =>
      terminal.table(
        ['NAME', 'SIZE'],
        listed.map(({ name, size }) => [name, formatBytes(size)]),
      ),
    )
  }
  const { mkdir } = await import('node:fs/promises')
  await mkdir(all, { recursive: true })
  const saved: Saved[] = []
  for (const artifact of listed) saved.push(await fetchOne(artifact.name, `${all}/`))
  terminal.result({ saved }, () => saved.map(({ file, bytes }) => `Saved ${file} (${formatBytes(bytes)})`).join('\n'))
}

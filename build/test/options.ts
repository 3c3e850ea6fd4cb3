import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'

/**
 * Which tests to run: `short` runs every suite in its short form, `all` everything in its long form, `rest` only the
 * long form of the suites that have one.
 */
export type Extent = 'short' | 'all' | 'rest'

export interface Options {
  extent: Extent
  /** Files and folders of tests; all when there are none. */
  paths: string[]
  shard: { number: number; of: number }
  /** The number of files that run in parallel. */
  jobs: number
  /** Runs a file that failed once more, alone, at the end. */
  secondTry: boolean
  /** Stores the duration of each file in the file that plans later runs. */
  saveDurations: boolean
}

export const USAGE = `npm test [-- PATH…] [-- --shard 1/4] [--jobs N]
  PATH               a test file or a folder of tests
  --shard N/M        the Nth of M fair parts
  --jobs N           how many files run beside each other
  --all              everything, in its long form (npm run test:all)
  --rest             what npm test leaves out (npm run test:rest)
  --no-second-try    runs no file that failed once more
  --save-durations   keeps how long each file took, for the plan of later runs`

/** An invalid argument. Its message is for people. */
export class WrongUsage extends Error {}

/** @throws WrongUsage */
export function readOptions(args: string[]): Options | 'help' {
  const { values, positionals } = parse(args)
  if (values.help) return 'help'
  if (values.all && values.rest) throw new WrongUsage('--all and --rest exclude each other.')
  return {
    extent: values.all ? 'all' : values.rest ? 'rest' : 'short',
    paths: positionals,
    shard: readShard(values.shard),
    jobs: readJobs(values.jobs),
    secondTry: !values['no-second-try'],
    saveDurations: values['save-durations'],
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        all: { type: 'boolean', default: false },
        rest: { type: 'boolean', default: false },
        shard: { type: 'string', default: '1/1' },
        jobs: { type: 'string' },
        'no-second-try': { type: 'boolean', default: false },
        'save-durations': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new WrongUsage((error as Error).message.split('\n')[0])
  }
}

function readShard(text: string): Options['shard'] {
  const [, number, of] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []
  const shard = { number: Number(number), of: Number(of) }
  if (!(shard.number >= 1 && shard.number <= shard.of))
    throw new WrongUsage(`--shard ${text}: a shard is the first of four as 1/4, the last as 4/4.`)
  return shard
}

function readJobs(text: string | undefined): number {
  // Tests wait for half of their time, so one job per processor would leave half of the processors idle.
  if (text === undefined) return availableParallelism() * 2
  if (!/^[1-9]\d?$/.test(text)) throw new WrongUsage(`--jobs ${text}: a number from 1 to 99.`)
  return Number(text)
}

import type { BrowserManifest, FileSource } from '../data/built-files.ts'

declare module 'fastify' {
  interface FastifyInstance {
    workerPrograms: WorkerPrograms
  }
}

/**
 * The programs of worker threads, as text for `new Worker(text, { eval: true })`, since a single binary has no file to
 * start one from. They are bundled from `core/<room>/workers/*.ts`, `plugins/<name>/workers/*.ts` and
 * `drivers/<family>/workers/*.ts` (build/browser.ts), and read when the first worker starts, since most processes never need one.
 */
export class WorkerPrograms {
  readonly #source: FileSource

  constructor(source: FileSource) {
    this.#source = source
  }

  /** @param name name of the file in `workers/`, without its extension */
  async text(name: string): Promise<string> {
    const manifest = JSON.parse(await this.#read('manifest.json')) as BrowserManifest
    const file = manifest.workers[name]
    if (!file) throw new Error(`There is no worker program ${name}; there are ${Object.keys(manifest.workers)}.`)
    return this.#read(file)
  }

  async #read(name: string): Promise<string> {
    const bytes = await this.#source(name)
    if (!bytes) throw new Error(`The build lacks ${name}; run \`npm run build:browser\` again.`)
    return Buffer.from(bytes).toString()
  }
}

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

/** A compressed form, or null for the digest where the coding does not make the bytes smaller. */
export interface Variant {
  coding: 'br' | 'gzip'
  sha256: string
  bytes: Uint8Array
}

/** A worker that nobody needed for so long ends. */
const IDLE_MS = 5000

/**
 * The program of a worker, as text: a single binary has no file to start one from. It yields to everything else on the
 * machine (on Linux a thread has a priority of its own), since players come before compression. What is large goes in
 * pieces: a thread can't be ended within one call, and a stop must not wait for a minute's work.
 */
const PROGRAM = `
const { createHash } = require('node:crypto')
const { once } = require('node:events')
const { readlinkSync } = require('node:fs')
const { setPriority } = require('node:os')
const { parentPort } = require('node:worker_threads')
const zlib = require('node:zlib')
const AT_ONCE = 512 * 1024
const PIECE = 64 * 1024
try { setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 15) } catch {}

async function inPieces(stream, bytes) {
  const chunks = []
  stream.on('data', (chunk) => chunks.push(chunk))
  const ended = once(stream, 'end')
  for (let at = 0; at < bytes.length; at += PIECE) {
    if (!stream.write(bytes.subarray(at, at + PIECE))) await once(stream, 'drain')
  }
  stream.end()
  await ended
  return Buffer.concat(chunks)
}

parentPort.on('message', async (bytes) => {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = zlib.constants
  const best = { params: { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_SIZE_HINT]: bytes.length } }
  const small = bytes.length <= AT_ONCE
  const br = small ? zlib.brotliCompressSync(bytes, best) : await inPieces(zlib.createBrotliCompress(best), bytes)
  const gzip = small ? zlib.gzipSync(bytes, { level: 9 }) : await inPieces(zlib.createGzip({ level: 9 }), bytes)
  const variants = Object.entries({ br, gzip }).map(([coding, made]) => {
    const sha256 = createHash('sha256').update(made).digest('hex')
    return { coding, bytes: new Uint8Array(made), sha256 }
  })
  parentPort.postMessage(variants, variants.map((variant) => variant.bytes.buffer))
})`

/** Brotli 11 and gzip 9 in worker threads, half of the machine's cores at most; started when needed. */
export class Compressor {
  readonly threads = Math.max(1, Math.floor(availableParallelism() / 2))
  readonly #workers = new Set<Worker>()
  readonly #idle: Worker[] = []
  readonly #waiting: (() => void)[] = []
  #closed = false

  /** @throws when the signal is aborted, or the worker ends before it is done */
  async compress(bytes: Uint8Array, signal: AbortSignal): Promise<Variant[]> {
    while (this.#idle.length === 0 && this.#workers.size >= this.threads) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    signal.throwIfAborted()
    if (this.#closed) throw new Error('the process stops')
    const worker = this.#idle.pop() ?? this.#start()
    // A copy of its own goes to the worker without another one being made.
    const sent = Uint8Array.from(bytes)
    const { promise, resolve, reject } = Promise.withResolvers<Variant[]>()
    const ended = () => reject(signal.reason ?? new Error('a worker thread ended before its work'))
    const abort = () => void worker.terminate()
    worker.once('message', resolve).once('error', reject).once('exit', ended)
    signal.addEventListener('abort', abort)
    try {
      worker.postMessage(sent, [sent.buffer])
      return await promise
    } finally {
      signal.removeEventListener('abort', abort)
      worker.off('message', resolve).off('error', reject).off('exit', ended)
      this.#release(worker)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#workers].map((worker) => worker.terminate()))
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { eval: true, name: 'compressor' })
    worker.unref()
    // A worker that breaks while it has nothing to do is found by the next that needs one.
    worker.on('error', () => {})
    this.#workers.add(worker)
    return worker
  }

  #release(worker: Worker): void {
    // -1 is the id of a thread that has ended.
    if (worker.threadId === -1 || this.#closed) this.#workers.delete(worker)
    else this.#rest(worker)
    this.#waiting.shift()?.()
  }

  #rest(worker: Worker): void {
    this.#idle.push(worker)
    setTimeout(() => {
      const at = this.#idle.indexOf(worker)
      if (at === -1) return
      this.#idle.splice(at, 1)
      this.#workers.delete(worker)
      void worker.terminate()
    }, IDLE_MS).unref()
  }
}

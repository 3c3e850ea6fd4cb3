import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import { StartupError } from '../errors.ts'
import type { Health } from '../observe/health.ts'
import type { ServerCertificate } from './local-authority.ts'

/** The paths of a certificate and its key, and the polling interval. */
export interface CertificatePaths {
  cert: string
  key: string
}

const LOOK_MS = 10_000
const DAY_MS = 86_400_000
/** Number of days before the expiry at which warnings begin. */
export const EXPIRY_WARNING_DAYS = 14

/**
 * A https certificate in two files that another program renews, such as certbot or a company's certificate authority.
 *
 * The files are polled every few seconds instead of watched: renewal replaces links and renames folders, which watchers
 * miss, and watchers do not work on network file systems. A certificate that does not match the key yet is retried at
 * the next poll.
 */
export class CertificateFiles {
  #current: ServerCertificate
  #refused = ''
  #timer: NodeJS.Timeout | undefined
  readonly #paths: CertificatePaths
  readonly #parts: { log: FastifyBaseLogger; clock: Clock }

  private constructor(
    current: ServerCertificate,
    paths: CertificatePaths,
    parts: { log: FastifyBaseLogger; clock: Clock },
  ) {
    this.#current = current
    this.#paths = paths
    this.#parts = parts
  }

  /** @throws StartupError naming the file and its problem */
  static async open(
    paths: CertificatePaths,
    parts: { log: FastifyBaseLogger; clock: Clock },
  ): Promise<CertificateFiles> {
    const pair = await readPair(paths)
    checkPair(pair, paths)
    return new CertificateFiles(pair, paths, parts)
  }

  get current(): ServerCertificate {
    return this.#current
  }

  /** Starts to poll. A health note warns before the certificate expires. */
  watch(health: Health, changed: (certificate: ServerCertificate) => void): void {
    this.#note(health)
    const look = async () => {
      if (await this.#look()) changed(this.#current)
      this.#note(health)
    }
    const failed = (error: unknown) => this.#parts.log.error({ err: error }, 'a renewed certificate could not be used')
    this.#timer = setInterval(() => void look().catch(failed), LOOK_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** @returns whether there is another valid pair */
  async #look(): Promise<boolean> {
    const { log } = this.#parts
    let text = ''
    try {
      const pair = await readPair(this.#paths)
      text = pair.cert + pair.key
      if (text === this.#current.cert + this.#current.key || text === this.#refused) return false
      checkPair(pair, this.#paths)
      this.#current = pair
      this.#refused = ''
      log.info({ ends: endOf(pair.cert) }, 'the certificate was renewed')
      return true
    } catch (error) {
      // Each content is logged only once, since a half-finished renewal is harmless.
      if (text !== this.#refused) log.warn(`the certificate was not renewed: ${(error as Error).message}`)
      this.#refused = text
      return false
    }
  }

  #note(health: Health): void {
    const at = this.#parts.clock.now()
    const days = daysLeft(this.#current.cert, at)
    const soon = days < EXPIRY_WARNING_DAYS
    const message = `The certificate in ${this.#paths.cert} ${endsIn(days)}.`
    health.notes.set('certificate', { state: soon ? 'warning' : 'ok', message, at })
  }
}

/** @throws StartupError */
export async function readPair({ cert, key }: CertificatePaths): Promise<ServerCertificate> {
  const read = (name: string, file: string) =>
    readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new StartupError(`listen.tls.${name}: ${file} can't be read (${error.code}).`)
    })
  return { cert: await read('cert', cert), key: await read('key', key) }
}

/** @throws StartupError when the two are not a certificate and its key, in PEM, or TLS refuses them */
export function checkPair(pair: ServerCertificate, paths: CertificatePaths): X509Certificate {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pair.cert)
  } catch {
    throw new StartupError(`listen.tls.cert: ${paths.cert} holds no certificate in PEM.`)
  }
  let fits: boolean
  try {
    fits = certificate.checkPrivateKey(createPrivateKey(pair.key))
  } catch {
    throw new StartupError(`listen.tls.key: ${paths.key} holds no private key in PEM, or one with a pass phrase.`)
  }
  if (!fits) throw new StartupError(`listen.tls.key: ${paths.key} is not the key of the certificate in ${paths.cert}.`)
  // The server also reads the certificates after the first, and refuses keys that are too short.
  try {
    createSecureContext(pair)
  } catch (error) {
    throw new StartupError(`listen.tls.cert: ${paths.cert} can't be used for TLS (${(error as Error).message}).`)
  }
  return certificate
}

const endOf = (cert: string) => new Date(new X509Certificate(cert).validTo)

/** Returns the whole days until a certificate expires; negative afterwards. */
export const daysLeft = (cert: string, now: Date): number =>
  Math.floor((endOf(cert).getTime() - now.getTime()) / DAY_MS)

/** Formats `ends in 12 days`. */
export const endsIn = (days: number): string =>
  days < 0 ? 'has ended' : `ends in ${days} ${days === 1 ? 'day' : 'days'}`

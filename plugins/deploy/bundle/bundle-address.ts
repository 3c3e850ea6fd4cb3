import type { FastifyInstance } from 'fastify'
import { relaySignatures } from '../../../drivers/storage/interface.ts'
import { UploadRefused } from '../errors.ts'
import type { Contents } from '../manifest/manifests.ts'
import type { StartedDeploy } from '../schemas.ts'
import { RECORD_BYTES, tarSizeOf } from './tar.ts'

/**
 * The signed addresses of bundles. Anyone with the address may send the files of one deploy until it expires, on any
 * node.
 */
export class BundleAddresses {
  readonly #origins: FastifyInstance['origins']
  readonly #signatures: ReturnType<typeof relaySignatures>

  constructor({ origins, keys, clock }: Pick<FastifyInstance, 'origins' | 'keys' | 'clock'>) {
    this.#origins = origins
    this.#signatures = relaySignatures(keys.derive('deploy/bundle'), clock)
  }

  presign(deployId: string, sizes: Iterable<{ size: number }>, expiresAt: Date): NonNullable<StartedDeploy['bundle']> {
    const relay = `${this.#origins.portal}/api/deploy/${deployId}/bundle`
    const { url, headers } = this.#signatures.presign(NO_BYTES, { relay, expiresAt })
    return {
      url,
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/x-tar' },
      maxBytes: bundleBytes(sizes),
    }
  }

  /** @param url path and query of a request, unchanged @throws UploadRefused */
  verify(url: string): void {
    if (!this.#signatures.verify(url, NO_BYTES)) throw new UploadRefused()
  }
}

/** An address of a bundle is not bound to certain bytes: the deploy says which it may have. */
const NO_BYTES = { sha256: '', size: 0 }

/** Returns the maximum size of an archive of some files. */
export const bundleBytes = (files: Iterable<{ size: number }>): number =>
  Array.from(files).reduce((sum, { size }) => sum + tarSizeOf(size), RECORD_BYTES)

/** Returns the maximum size of an archive of a whole deploy. */
export const bundleBytesOf = (contents: Contents): number => bundleBytes(contents.values())

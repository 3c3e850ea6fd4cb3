import { hkdfSync, randomBytes } from 'node:crypto'
import { chmod, link, open, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StartupError } from '../errors.ts'
import { syncFolder } from './durability/fsync.ts'
import { makeFolder } from './folders/make-folder.ts'

/** Derives the secrets of every purpose from one secret, so that nodes store and share nothing else. */
export class Keys {
  readonly #root: Buffer

  private constructor(root: Buffer) {
    this.#root = root
  }

  /**
   * Uses the configured `secret`, or the one of the data folder, which the first start creates. The latter is 32 random
   * bytes, which a configuration can have as `base64:…`.
   */
  static async open({ dataDir, secret }: { dataDir: string; secret?: string | undefined }): Promise<Keys> {
    return new Keys(secret ? bytesOf(secret) : await readOrMake(join(dataDir, 'keys')))
  }

  /** Returns a value that reveals only whether two secrets are equal. */
  check(): string {
    return this.derive('check').toString('base64url')
  }

  /**
   * Derives 32 bytes for one purpose (HKDF-SHA-256). The result is the same on every node and after every start.
   *
   * @param salt in base64url, for rotated keys (key-rings.ts)
   */
  derive(purpose: string, salt = ''): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#root, Buffer.from(salt, 'base64url'), `gameyard/${purpose}`, 32))
  }
}

/** A text is its own bytes, unless it is 32 bytes in base64 behind `base64:`. */
function bytesOf(secret: string): Buffer {
  const [, encoded] = /^base64:([A-Za-z0-9+/]{43}=)$/.exec(secret) ?? []
  return encoded ? Buffer.from(encoded, 'base64') : Buffer.from(secret)
}

async function readOrMake(folder: string): Promise<Buffer> {
  const file = join(folder, 'secret')
  const secret = await readOrCreate(file, () => randomBytes(32))
  if (secret.length !== 32) throw new StartupError(`The key file ${file} is damaged; restore it from a backup.`)
  return secret
}

/**
 * Reads a secret file, which the first caller creates atomically. The file has mode 0600, in a folder that only its
 * owner can open.
 *
 * @throws StartupError when the file exists and can't be read
 */
export async function readOrCreate(file: string, make: () => Promise<Buffer> | Buffer): Promise<Buffer> {
  const folder = dirname(file)
  await makeFolder(folder)
  const existing = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new StartupError(`The key file ${file} can't be read (${error.code}); give it back its owner and mode 0600.`)
  })
  if (existing) {
    // Only the owner may read secrets, whatever mode a copied folder has. Systems without file modes are ignored.
    await chmod(file, 0o600).catch(() => {})
    return existing
  }
  // The key is written under another name and then linked into place. A process killed midway leaves no partial key,
  // and of two processes that start at once one wins.
  const fresh = `${file}.${randomBytes(6).toString('hex')}`
  const handle = await open(fresh, 'wx', 0o600)
  try {
    await handle.writeFile(await make())
    await handle.sync()
  } finally {
    await handle.close()
  }
  await link(fresh, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(fresh)
  await syncFolder(folder)
  return readFile(file)
}

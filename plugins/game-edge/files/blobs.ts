import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import { type Blobs, type Digested, DiskCache } from '../../../core/data/disk-cache.ts'
import type { GameEdgeConfig } from '../schemas.ts'
import type { Coding } from './codings.ts'
import { decoded, OneAtATime, partOf } from './decode.ts'

/** The bytes of a game's file as they were uploaded, or without the coding in which they were. */
export interface GameBlob extends Digested {
  decoded?: Decoded
}

interface Decoded {
  of: Digested
  coding: Coding
}

export interface GameBlobs extends Blobs<GameBlob> {
  /** Limits how many files are decoded at a time, since each occupies a thread. */
  decoding: OneAtATime
}

/**
 * Returns the source of game files: the storage itself, or a local disk cache if the storage is remote. Decoded forms
 * are in that cache too, wherever the storage is.
 */
export async function blobsOf(app: FastifyInstance, { diskCacheBytes }: GameEdgeConfig): Promise<GameBlobs> {
  const { storage, deploys } = app
  const decoding = new OneAtATime()
  const stored: Blobs<GameBlob> = {
    file: async ({ sha256 }) => (await storage.openFile?.(deploys.blobKey(sha256))) ?? null,
    open: (file, range) => deploys.openBlob(file, range),
  }
  const decode = async ({ of, coding }: Decoded, range: ByteRange): Promise<Readable> => {
    const end = await decoding.take()
    try {
      return partOf(decoded(await blobs.open(of), coding), range).once('close', end)
    } catch (error) {
      end()
      throw error
    }
  }
  const source: Blobs<GameBlob> = {
    file: async () => null,
    open: (blob, range = wholeOf(blob)) => (blob.decoded ? decode(blob.decoded, range) : deploys.openBlob(blob, range)),
  }
  const folder = join(app.config.dataDir, 'cache', 'games')
  const openCache = () => DiskCache.open({ folder, maxBytes: diskCacheBytes, source, log: app.log })
  let opened: Promise<Blobs<GameBlob>> | undefined
  /** With a local storage only decoded forms need the folder. */
  const cache = () => (opened ??= diskCacheBytes === 0 ? Promise.resolve(source) : openCache())
  const copied = storage.remote && diskCacheBytes > 0 ? await cache() : stored
  const blobs: GameBlobs = {
    decoding,
    file: async (blob) => (blob.decoded ? await cache() : copied).file(blob),
    async open(blob, range) {
      if (!blob.decoded) return copied.open(blob, range)
      // A reader of a part shares the copy that is being made, since decoding can't begin in the middle.
      return partOf(await (await cache()).open(blob), range ?? wholeOf(blob))
    },
  }
  return blobs
}

const wholeOf = ({ size }: Digested): ByteRange => ({ start: 0, end: size - 1 })

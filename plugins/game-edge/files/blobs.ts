import { join } from 'node:path'
import type { Readable, Transform } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import { type Blobs, type Digested, DiskCache } from '../../../core/data/disk-cache.ts'
import type { GameEdgeConfig } from '../schemas.ts'
import { OneAtATime, partOf, transformed } from './streams.ts'

/** The bytes of a game's file as they were uploaded, or a form that is made of them. */
export interface GameBlob extends Digested {
  derived?: Derived
}

/** How a form of a file is made. The result is the same each time. */
export interface Derived {
  source(): Promise<Readable>
  through(): Transform
}

export interface GameBlobs extends Blobs<GameBlob> {
  /** Limits how many forms are made at a time, since each occupies a thread. */
  deriving: OneAtATime
}

/**
 * Returns the source of game files: the storage itself, or a local disk cache if the storage is remote. Derived forms
 * are in that cache too, wherever the storage is.
 */
export async function blobsOf(app: FastifyInstance, { diskCacheBytes }: GameEdgeConfig): Promise<GameBlobs> {
  const { storage, deploys } = app
  const deriving = new OneAtATime()
  const stored: Blobs<GameBlob> = {
    file: async ({ sha256 }) => (await storage.openFile?.(deploys.blobKey(sha256))) ?? null,
    open: (file, range) => deploys.openBlob(file, range),
  }
  const make = async ({ source, through }: Derived, range: ByteRange): Promise<Readable> => {
    const end = await deriving.take()
    try {
      return partOf(transformed(await source(), through()), range).once('close', end)
    } catch (error) {
      end()
      throw error
    }
  }
  const source: Blobs<GameBlob> = {
    file: async () => null,
    open: (blob, range = wholeOf(blob)) => (blob.derived ? make(blob.derived, range) : deploys.openBlob(blob, range)),
  }
  const folder = join(app.config.dataDir, 'cache', 'games')
  const openCache = () => DiskCache.open({ folder, maxBytes: diskCacheBytes, source, log: app.log })
  let opened: Promise<Blobs<GameBlob>> | undefined
  /** With a local storage only derived forms need the folder. */
  const cache = () => (opened ??= diskCacheBytes === 0 ? Promise.resolve(source) : openCache())
  const copied = storage.remote && diskCacheBytes > 0 ? await cache() : stored
  const blobs: GameBlobs = {
    deriving,
    file: async (blob) => (blob.derived ? await cache() : copied).file(blob),
    async open(blob, range) {
      if (!blob.derived) return copied.open(blob, range)
      // A reader of a part shares the copy that is being made, since making can't begin in the middle.
      return partOf(await (await cache()).open(blob), range ?? wholeOf(blob))
    },
  }
  return blobs
}

const wholeOf = ({ size }: Digested): ByteRange => ({ start: 0, end: size - 1 })

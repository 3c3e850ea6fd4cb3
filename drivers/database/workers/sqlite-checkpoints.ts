// The worker thread program that copies SQLite's write-ahead log into the database. Each message is a request for one
// checkpoint, which is answered with null at its end; null ends the thread.
import { parentPort } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import type { CheckpointRequest } from '../sqlite-checkpoints.ts'

/** While another process makes a checkpoint, this one is not needed, so it does not wait. */
const WAIT_MS = 0

let database: Sqlite.Database | undefined

function open({ file, addon, synchronous }: CheckpointRequest): Sqlite.Database {
  // The library of the main thread is loaded again, never a second copy: closing a file of one copy would release the
  // locks of the other.
  const loaded = { exports: {} }
  process.dlopen(loaded, addon)
  const opened = new Sqlite(file, { fileMustExist: true, timeout: WAIT_MS, nativeBinding: loaded.exports as never })
  opened.pragma(`synchronous = ${synchronous}`)
  return opened
}

parentPort?.on('message', (request: CheckpointRequest | null) => {
  if (request === null) {
    database?.close()
    process.exit()
  }
  database ??= open(request)
  database.pragma('wal_checkpoint(passive)')
  parentPort?.postMessage(null)
})

// A separate node for jobs.test.ts: it works on the given database file, reports its actions, and never ends a job.
import { Database } from '../../../core/data/database.ts'
import { Events } from '../../../core/events.ts'
import { BackgroundJob, Jobs, jobMigrations } from '../../../core/jobs/jobs.ts'
import local from '../../../drivers/bus/local.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { driverContext } from '../../kit/driver-context.ts'

const context = driverContext({ dataDir: process.argv[2] as string })
const driver = await sqlite.create({ file: 'jobs.db', durability: 'full', busyTimeout: 5000 }, context)
const db = await Database.open(driver, { entities: [BackgroundJob], migrations: jobMigrations, ...context })
const jobs = new Jobs({ db, ...context, events: new Events(await local.create({}, context), context.log, 'child') })
jobs.handle(
  'endless',
  ({ attempt }) => {
    process.stdout.write(`started attempt ${attempt}\n`)
    return new Promise(() => {})
  },
  { leaseSeconds: 1, maxAttempts: 3 },
)
await jobs.start()
// The job poller does not keep a process alive, unlike a server's sockets.
setInterval(() => {}, 60_000)

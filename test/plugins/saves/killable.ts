// `node killable.ts <folder> <port>`: the platform with continuous garbage collection of saves, to be killed at any
// moment.
import { setTimeout as sleep } from 'node:timers/promises'
import { OwnerQuota } from '../../../plugins/saves/owner-quota.ts'
import { GarbageCollector } from '../../../plugins/saves/values/garbage-collector.ts'
import { serveKillable } from '../../kit/killable-platform.ts'

const app = await serveKillable()
const { signal } = new AbortController()
for (;;) {
  await new GarbageCollector(app).run(signal)
  await new OwnerQuota(app).count(signal)
  await sleep(50)
}

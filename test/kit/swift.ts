import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { accessSync, openSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { absent } from './components.ts'
import { freePort } from './server.ts'
import { timeLimit } from './time-limit.ts'
import { endWithParent } from './watchdog.ts'

const run = promisify(execFile)
const HOST = '127.0.0.1'
const STORES = ['account', 'container', 'object'] as const

/** Returns in a sentence why Swift can't run on this machine; false when it can. */
export function swiftMissing(): string | false {
  try {
    for (const name of ['proxy', ...STORES]) accessSync(`/usr/bin/swift-${name}-server`)
    for (const path of ['/usr/bin/memcached', '/etc/swift/swift.conf']) accessSync(path)
    return false
  } catch {
    return absent('swift-proxy-server')
  }
}

/** A running S3 server that checks signatures, with the values that a client needs. */
export interface Swift {
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  createBucket(name: string): Promise<void>
  /** Stops the servers and removes their folder. */
  stop(): Promise<void>
}

/**
 * Starts OpenStack Swift with its S3 interface on free loopback ports: one process each for accounts, containers,
 * objects and the proxy, and memcached. Data, rings and settings are in a temporary folder. Of the machine's own
 * settings it reads only `/etc/swift/swift.conf`, as the package installs it. Lists have pages of seven, so that a
 * client that ignores further pages fails.
 */
export async function startSwift(): Promise<Swift> {
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-swift-'))
  const root = process.getuid?.() === 0
  const user = root ? 'swift' : userInfo().username
  const processes: ChildProcess[] = []
  const log = openSync(join(folder, 'log'), 'a')
  const start = (command: string, args: string[]) => {
    processes.push(endWithParent(spawn(command, args, { stdio: ['ignore', log, log], cwd: folder })))
  }
  const stop = async () => {
    await Promise.all(processes.map(end))
    await rm(folder, { recursive: true, force: true })
  }

  try {
    const data = join(folder, 'data')
    await mkdir(join(data, 'd1'), { recursive: true })
    if (root) for (const path of [folder, data, join(data, 'd1')]) await chown(path, ...(await idsOf('swift')))
    const ports = await Promise.all([freePort(), freePort(), freePort()])
    const [proxy, memcache] = [await freePort(), await freePort()]

    const shared = `bind_ip = ${HOST}\nswift_dir = ${folder}\nuser = ${user}\nworkers = 0`
    const rings = STORES.map((store, index) => [join(folder, `${store}.ring.gz`), String(ports[index])])
    await run('/usr/bin/python3', ['-c', WRITE_RINGS, HOST, ...rings.flat()])
    for (const [index, store] of STORES.entries())
      await writeFile(
        join(folder, `${store}.conf`),
        `[DEFAULT]\n${shared}\nbind_port = ${ports[index]}\ndevices = ${data}\nmount_check = false\n` +
          `[pipeline:main]\npipeline = ${store}-server\n[app:${store}-server]\nuse = egg:swift#${store}\n` +
          // Lists must have what was stored, however slow the machine is.
          (store === 'object' ? 'container_update_timeout = 60\nnode_timeout = 60\nconn_timeout = 10\n' : ''),
      )
    await writeFile(join(folder, 'proxy.conf'), proxySettings(shared, proxy, memcache))

    start('/usr/bin/memcached', [
      '-l',
      HOST,
      '-p',
      String(memcache),
      '-U',
      '0',
      '-m',
      '32',
      ...(root ? ['-u', user] : []),
    ])
    for (const name of [...STORES, 'proxy']) start(`/usr/bin/swift-${name}-server`, [join(folder, `${name}.conf`)])
    for (const port of [memcache, ...ports, proxy]) await listening(port, processes)

    const access = {
      endpoint: `http://${HOST}:${proxy}`,
      region: 'us-east-1',
      accessKeyId: 'test:tester',
      secretAccessKey: 'testing',
    }
    return {
      ...access,
      stop,
      async createBucket(name) {
        const { endpoint, region, ...credentials } = access
        const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
        await client.send(new CreateBucketCommand({ Bucket: name }))
        client.destroy()
      },
    }
  } catch (error) {
    const text = await readFile(join(folder, 'log'), 'utf8').catch(() => '')
    await stop()
    throw new Error(`Swift did not start.\n${text.slice(-4000)}`, { cause: error })
  }
}

/** Writes rings with one device each. `swift-ring-builder` would need nine starts of Python. */
const WRITE_RINGS = `
import sys
from swift.common.ring import RingBuilder
host, rings = sys.argv[1], sys.argv[2:]
for path, port in zip(rings[::2], map(int, rings[1::2])):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev(dict(region=1, zone=1, ip=host, port=port, replication_ip=host, replication_port=port,
                         device='d1', weight=1, meta=''))
    builder.rebalance()
    builder.get_ring().save(path)
`

const proxySettings = (shared: string, port: number, memcache: number) => `[DEFAULT]
${shared}
bind_port = ${port}
[pipeline:main]
pipeline = catch_errors cache listing_formats s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
conn_timeout = 10
node_timeout = 60
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = ${HOST}:${memcache}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
max_bucket_listing = 7
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
`

async function idsOf(user: string): Promise<[number, number]> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => (await run('id', [flag, user])).stdout))
  return [Number(uid), Number(gid)]
}

/** Resolves when a port takes connections; rejects after `timeLimit(120)`, or when one of the processes ended. */
async function listening(port: number, processes: ChildProcess[]): Promise<void> {
  for (const deadline = Date.now() + timeLimit(120); Date.now() < deadline; await sleep(100)) {
    const dead = processes.find((child) => child.exitCode !== null || child.signalCode !== null)
    if (dead) throw new Error(`${dead.spawnfile} ended by itself.`)
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, HOST, () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (open) return
  }
  throw new Error(`Nothing listens on port ${port}.`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || !child.pid) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await ended
  clearTimeout(timer)
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { launchPostgres, needsPostgres, type Postgres } from './postgres.ts'
import { nginxCommand, proxyMissing, runProxy } from './proxy.ts'
import { needsRedis, type RedisServer, startRedis } from './redis.ts'
import { freePort, type Server, startServer } from './server.ts'
import { startSwift, swiftMissing } from './swift.ts'

/** The value for `skip`: the component that a cluster needs and this machine lacks. In CI none may be missing. */
export const clusterMissing: string | false =
  needsPostgres.skip || needsRedis.skip || proxyMissing('nginx') || (process.env.CI === 'true' ? false : swiftMissing())

const SECRET = 'the same on every node, and long enough'

/** Equal nodes that share one PostgreSQL, Redis and S3 behind the nginx of `deploy/nginx.conf`. */
export interface Cluster {
  /** The public address: `http://localhost:<port of nginx>`. */
  portal: string
  port: number
  nodes: Server[]
  postgres: Postgres
  /** The URL of the nodes' database, and the secret that all nodes have. */
  database: string
  secret: string
  redis: RedisServer
  /** Returns the origin of a game. */
  origin(slug: string): string
  /** Starts a node again with the same port and an empty disk. `program` starts another build. */
  startNode(index: number, program?: string[]): Promise<Server>
  /** Returns the number of requests to each node since the last call. */
  shares(): number[]
}

/**
 * Starts a cluster, which ends with the test. nginx distributes requests in turn: of two requests, one goes to each
 * node. Every node has its own folder, which is empty at each start, so that no durable state can be in it.
 *
 * @param config sections of the configuration that all nodes have
 * @param program what the first nodes run, with its first arguments; this build by default
 */
export async function startCluster(
  t: Test,
  {
    config = {},
    nodes: count = 2,
    program: first,
  }: { config?: Record<string, unknown>; nodes?: number; program?: string[] } = {},
): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-cluster-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const swift = await startSwift()
  t.teardown(swift.stop)
  await swift.createBucket('gameyard')
  const postgres = await launchPostgres()
  t.teardown(postgres.remove)
  const redis = await startRedis(t)
  const database = await postgres.database()
  const port = await freePort()
  const ports = await Promise.all(Array.from({ length: count }, freePort))

  const { endpoint, region, accessKeyId, secretAccessKey } = swift
  const shared = {
    portal: { url: `http://localhost:${port}` },
    games: { domain: `localhost:${port}` },
    trustProxy: ['127.0.0.1'],
    secret: SECRET,
    database: { driver: 'postgres', url: database },
    storage: {
      driver: 's3',
      endpoint,
      region,
      bucket: 'gameyard',
      forcePathStyle: true,
      accessKeyId,
      secretAccessKey,
    },
    bus: { driver: 'redis', url: redis.url },
    blender: { driver: 'none' },
    ...config,
  }
  const nodes: Server[] = []
  let starts = 0
  const startNode = async (index: number, program?: string[]) => {
    const own = mkdtempSync(join(folder, `node-${index}-${++starts}-`))
    const options = { config: shared, folder: own, port: ports[index] as number, ...(program ? { program } : {}) }
    const server = await startServer(t, options)
    nodes[index] = server
    return server
  }
  // All nodes start at once, as after a power cut: the first one migrates, and the others wait for it.
  await Promise.all(ports.map((_port, index) => startNode(index, first)))

  const log = join(folder, 'requests')
  writeFileSync(log, '')
  writeFileSync(join(folder, 'site.conf'), site(port, await freePort(), ports))
  const http = `log_format nodes '$upstream_addr $status $request_method $host$request_uri';\naccess_log ${log} nodes;`
  await runProxy(t, nginxCommand(folder, join(folder, 'site.conf'), http), port)

  let read = 0
  return {
    portal: `http://localhost:${port}`,
    port,
    nodes,
    postgres,
    database,
    secret: SECRET,
    redis,
    startNode,
    origin: (slug) => `http://${slug}.localhost:${port}`,
    shares() {
      const lines = readFileSync(log, 'utf8').slice(read)
      read += lines.length
      return ports.map((own) => lines.split('\n').filter((line) => line.startsWith(`127.0.0.1:${own} `)).length)
    },
  }
}

/**
 * Returns the file of `deploy/` with the test's names and ports, without https. The settings for nodes do not change.
 */
function site(port: number, redirects: number, nodes: number[]): string {
  const text = readFileSync(resolve(import.meta.dirname, '../../deploy/nginx.conf'), 'utf8')
  const server = /^\tserver 127\.0\.0\.1:8080(.*)$/m
  if (!server.test(text)) throw new Error('deploy/nginx.conf names no node.')
  return text
    .replace(server, (_line, options) => nodes.map((own) => `\tserver 127.0.0.1:${own}${options}`).join('\n'))
    .replace(/\blisten 80;/, `listen ${redirects};`)
    .replace(/\blisten 443 [^;]*;/, `listen ${port};`)
    .replace(/^\t(listen \[::\]|ssl_).*\n/gm, '')
    .replaceAll('example.org', 'localhost')
    .replaceAll('*.example-games.net', '*.localhost')
}

// The files that operators copy, other than those tested with proxies and systemd: compose.yaml, deploy/kubernetes, the
// image. Every name in them is checked against the program.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { plugins } from '../plugins/index.ts'
import { folderWith, load } from './config/kit.ts'
import { startPlatform } from './kit/platform.ts'
import { nginxCommand, proxyMissing } from './kit/proxy.ts'

const root = resolve(import.meta.dirname, '..')
const read = (name: string) => readFileSync(join(root, name), 'utf8')
// biome-ignore lint/suspicious/noExplicitAny: what a file holds has no type; tests match its shape
type Any = any

/** Loads a configuration whose secrets are files, as the program does. */
async function loads(t: Test, text: string, secrets: Record<string, string>) {
  const folder = folderWith(t, secrets)
  const { config, problems, drivers } = await load(t, text.replaceAll('/run/secrets/gameyard', folder), { plugins })
  t.strictSame(problems, [])
  const names = Object.fromEntries(Object.entries(drivers).map(([family, { driver }]) => [family, driver.name]))
  t.match(names, { database: 'postgres', storage: 's3', bus: 'redis' }, 'all that must last is shared')
  return config
}

const dockerfile = read('docker/Dockerfile')
const [, user] = /^USER (\d+):\d+$/m.exec(dockerfile) ?? []

t.test(
  'one server in Docker: what the printed configuration writes to is mounted, for the user of the image',
  async (t) => {
    const { services, networks } = parse(read('deploy/compose.yaml')) as Any
    const { environment, volumes, logging, read_only: readOnly } = services.gameyard
    t.equal(readOnly, true)
    t.match(logging.options, { 'max-size': /^\d+m$/ }, 'the log does not fill the disk')
    const mounted = volumes.map((volume: string) => volume.split(':')[1])
    const text = read('config/files/single-server.yaml')
    const { config } = await load(t, text, { env: environment, plugins })
    t.match(config, { listen: { host: '0.0.0.0', port: 8080 }, trustProxy: [networks.default.ipam.config[0].gateway] })
    const to = /^#? *to: (\S+)|to: (\/\S+?)[ ,}]/m.exec(text)?.slice(1).find(Boolean) ?? ''
    t.match(to, /^\//)
    for (const folder of [config.dataDir, to, '/etc/gameyard']) t.ok(mounted.includes(folder), folder)
    const guide = read('docs/self-hosting.md')
    t.match(guide, `install -d -o ${user} -g ${user} -m 700 ${to}`)
    t.match(guide, 'docker compose -f deploy/compose.yaml up -d')
  },
)

t.test('the image: its environment is configuration, its user an ordinary one', async (t) => {
  const env = Object.fromEntries(
    [...dockerfile.matchAll(/\b(SERVICE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  )
  t.same(Object.keys(env), ['SERVICE_DATA_DIR', 'SERVICE_LISTEN__HOST'])
  const { config } = await load(t, null, { env: env as Record<string, string>, plugins })
  t.match(config, { dataDir: '/var/lib/gameyard', listen: { host: '0.0.0.0', port: 8080 } })
  t.match(dockerfile, /^VOLUME \/var\/lib\/gameyard$/m)
  t.match(dockerfile, /^EXPOSE 8080$/m)
  t.ok(Number(user) > 1000)
})

t.test('compose.yaml: two nodes, one configuration, one proxy', async (t) => {
  const { services, configs, volumes } = parse(read('compose.yaml'), { merge: true }) as Any
  t.same(services['node-1'], services['node-2'], 'equal nodes')
  const config = await loads(t, configs.gameyard.content, {})
  t.equal(config.portal.url, 'http://localhost:8080')
  t.equal(config.listen.processes, 'auto', 'a node uses every core of its machine')
  t.same(services.nginx.ports, ['8080:8080'])
  const { postgres, redis, s3 } = services
  const url = new URL((config.database as Any).url)
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = postgres.environment
  t.same([url.username, url.password, url.pathname.slice(1)], [POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB])
  t.ok(services[url.hostname] === postgres && services[new URL((config.bus as Any).url).hostname] === redis)
  const storage = config.storage as Any
  t.equal(services[new URL(storage.endpoint).hostname], s3)
  t.same(s3.ports, [`${new URL(storage.publicEndpoint).port}:${new URL(storage.endpoint).port}`])
  const [{ credentials }] = JSON.parse(configs.s3.content).identities
  const { accessKeyId: accessKey, secretAccessKey: secretKey } = storage
  t.same(credentials, [{ accessKey, secretKey }])
  t.match(services.bucket.environment, { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey })
  for (const [name, service] of Object.entries<Any>(services)) {
    for (const { source } of service.configs ?? []) t.ok(configs[source], `${name} reads ${source}`)
    for (const needed of Object.keys(service.depends_on ?? {})) t.ok(services[needed], `${name} needs ${needed}`)
    const kept = (service.volumes ?? []).map((volume: string) => volume.split(':')[0])
    if (!name.startsWith('node-')) for (const volume of kept) t.ok(volume in volumes, `${name} keeps ${volume}`)
  }
})

t.test('the proxy of compose.yaml does what deploy/nginx.conf does', async (t) => {
  const text = (parse(read('compose.yaml'), { merge: true }) as Any).configs.nginx.content.replaceAll('$$', '$')
  const lines = (text: string) =>
    text
      .split('\n')
      .map((line) => line.trim().replace(/\s+/g, ' '))
      .filter((line) => /^(proxy_|client_|zone|keepalive|default|'')/.test(line))
      .sort()
  t.same(lines(text), lines(read('deploy/nginx.conf')))
  const missing = proxyMissing('nginx')
  if (missing) return t.comment(missing)
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-nginx-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'site.conf'), text.replace(/node-\d:/g, '127.0.0.1:'))
  const { command, arguments: given } = nginxCommand(folder, join(folder, 'site.conf'))
  execFileSync(command, [...given, '-t'], {
    stdio: 'pipe',
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
  })
})

t.test('deploy/kubernetes: probes, secrets and users are those of the program and the image', async (t) => {
  const folder = 'deploy/kubernetes'
  const objects: Any[] = readdirSync(join(root, folder)).flatMap((name) =>
    parseAllDocuments(read(`${folder}/${name}`), { merge: true, version: '1.1' }).map((document) => {
      t.same(document.errors, [], name)
      return document.toJS()
    }),
  )
  const only = (kind: string) => {
    const found = objects.filter((object) => object.kind === kind)
    t.equal(found.length, 1, kind)
    return found[0]
  }
  const secrets = only('Secret').stringData
  const text = only('ConfigMap').data['gameyard.yaml']
  const config = await loads(t, text, secrets)
  const named = [...text.matchAll(/\/run\/secrets\/gameyard\/([\w-]+)/g)].map((match) => match[1])
  t.same(named.sort(), Object.keys(secrets).sort(), 'every secret is read, and there')

  const { spec } = only('Deployment')
  const pod = spec.template.spec
  const [container] = pod.containers
  t.equal(container.ports[0].containerPort, config.listen.port)
  t.equal(pod.securityContext.runAsUser, Number(user))
  t.ok(pod.terminationGracePeriodSeconds > container.lifecycle.preStop.sleep.seconds + config.limits.shutdownSeconds)
  t.match(container, {
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
    startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
  })
  const platform = await startPlatform(t)
  // A kubelet sends requests by IP address.
  for (const path of ['/healthz', '/readyz'])
    t.equal((await platform.stranger.get(path, { host: '10.1.2.3:8080' })).status, 200, path)
  const mounts = Object.fromEntries(container.volumeMounts.map((mount: Any) => [mount.mountPath, mount.name]))
  t.same(Object.keys(mounts), ['/etc/gameyard', '/run/secrets/gameyard', config.dataDir, '/tmp'])
  for (const name of Object.values(mounts)) t.ok(pod.volumes.some((volume: Any) => volume.name === name))
  const labels = spec.template.metadata.labels
  t.same(spec.selector.matchLabels, labels)
  t.same(only('Service').spec.selector, labels)
  t.same(only('PodDisruptionBudget').spec.selector.matchLabels, labels)
  const hosts = only('Ingress').spec.rules.map(({ host }: Any) => host)
  t.same(hosts, [new URL(config.portal.url).host, config.games.domain, `*.${config.games.domain}`])
})

import t from 'tap'
import { complaints, load } from './kit.ts'

const mistakes: { name: string; text: string; says: string[] }[] = [
  {
    name: 'a schedule without quotes is told to have some',
    text: 'backup:\n  schedule: */30 * * * *\n',
    says: ['gameyard.yaml:2:13  a value that begins with * needs quotes, such as schedule: "*/30 * * * *"'],
  },
  {
    name: 'an alias of nothing too',
    text: 'portal: { name: *yard }\n',
    says: ['gameyard.yaml:1:17  a value that begins with * needs quotes, such as schedule: "*/30 * * * *"'],
  },
  {
    name: 'a schedule that is none is found before the start',
    text: 'backup: { schedule: 61 3 * * * }\n',
    says: ['gameyard.yaml:1:21  backup.schedule: CronPattern: Invalid value for minute: 61'],
  },
  {
    name: 'backups are not kept in the data folder',
    text: 'dataDir: /srv/yard\nbackup: { schedule: 30 3 * * *, to: /srv/yard/blobs }\n',
    says: [
      'gameyard.yaml:2:37  backup.to: /srv/yard/blobs is in the data folder; name a folder on another disk, or /srv/yard/backups',
    ],
  },
  {
    name: 'a Unix socket has no https of its own',
    text: 'trustProxy: [127.0.0.1]\nlisten: { socket: /run/yard.sock, processes: 2 }\n',
    says: ['gameyard.yaml:2:19  listen.socket: listen.processes needs a port; remove one of the two'],
  },
  {
    name: 'the name of a proxy is no address',
    text: 'trustProxy: [127.0.0.1, caddy]\n',
    says: [
      'gameyard.yaml:1:13  trustProxy: caddy is no address; write the address of the proxy or its network, such as 172.16.0.0/12, or one of loopback, linklocal and uniquelocal',
    ],
  },
  {
    name: 'an address to listen on has no port',
    text: "listen: { host: '0.0.0.0:80' }\n",
    says: ['gameyard.yaml:1:17  listen.host: 0.0.0.0:80 is no address; the port is listen.port'],
  },
  {
    name: 'addresses of services are read before the start',
    text: [
      'mail: { driver: smtp, url: "http://mail", from: a@b.example }',
      'bus: { driver: redis, url: "redis://cache", ca: "-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----" }',
      'database: { driver: postgres, url: "postgres://db/yard?sslmode=disable", ssl: on }',
      '',
    ].join('\n'),
    says: [
      'gameyard.yaml:1:7  mail.url is no SMTP address: write smtp://host:587 or smtps://user:password@host.',
      'gameyard.yaml:2:6  bus.ca is for a connection by TLS, and bus.url has none: write rediss://host:6379.',
      'gameyard.yaml:3:11  database.url has sslmode=disable, which contradicts database.ssl: on: remove one of the two, or the connection would not be encrypted.',
    ],
  },
  {
    name: 'an unknown section is named, with the one that was probably meant',
    text: 'dataDir: ./data\n\ndatabse:\n  driver: sqlite\n',
    says: ['gameyard.yaml:3:1  unknown key `databse`, did you mean `database`?'],
  },
  {
    name: 'letters in another order are a near miss',
    text: 'listen:\n  hots: 127.0.0.1\n',
    says: ['gameyard.yaml:2:3  unknown key `hots` in listen, did you mean `host`?'],
  },
  {
    name: 'snake case is a near miss of camel case',
    text: 'data_dir: ./data\n',
    says: ['gameyard.yaml:1:1  unknown key `data_dir`, did you mean `dataDir`?'],
  },
  {
    name: 'a key that belongs into a section is sent there',
    text: 'port: 9000\n',
    says: ['gameyard.yaml:1:1  unknown key `port`, did you mean `listen.port`?'],
  },
  {
    name: 'an unknown key that resembles none is told what is expected there',
    text: 'listen: { interface: eth0 }\n',
    says: ['gameyard.yaml:1:11  unknown key `interface` in listen; expected host, port, socket, processes, tls'],
  },
  {
    name: 'a value of the wrong type says what was expected and what was found',
    text: 'listen:\n  port: eighty\n',
    says: ['gameyard.yaml:2:9  listen.port: expected a whole number from 0 to 65535, found "eighty"'],
  },
  {
    name: 'a number out of range says the range',
    text: 'listen: { port: 70000 }\n',
    says: ['gameyard.yaml:1:17  listen.port: expected a whole number from 0 to 65535, found 70000'],
  },
  {
    name: 'a number where text belongs asks for quotes',
    text: 'portal: { name: 2048 }\n',
    says: [
      'gameyard.yaml:1:17  portal.name: expected text of 1 to 60 characters, found 2048; put it in quotes if it is text',
    ],
  },
  {
    name: 'a choice lists what can be chosen, with the near miss',
    text: 'log: { level: wran }\n',
    says: [
      'gameyard.yaml:1:15  log.level: expected one of fatal, error, warn, info, debug, trace, silent, found "wran", did you mean `warn`?',
    ],
  },
  {
    name: 'an address with a path is told by example',
    text: 'portal: { url: http://localhost:8080/portal }\n',
    says: [
      'gameyard.yaml:1:16  portal.url: expected text such as `https://play.example.org`, found "http://localhost:8080/portal"',
    ],
  },
  {
    name: 'text where a section belongs',
    text: 'storage: s3\n',
    says: ['gameyard.yaml:1:10  storage: expected a mapping of keys and values, found "s3"'],
  },
  {
    name: 'an empty value stands where its key does',
    text: 'listen:\n  port:\n',
    says: ['gameyard.yaml:2:8  listen.port: expected a whole number from 0 to 65535, found nothing'],
  },
  {
    name: 'a key that a driver needs is missing',
    text: 'database:\n  driver: postgres\n',
    says: ['gameyard.yaml:2:3  database.url is missing: expected text. postgres://user:password@host:5432/database'],
  },
  {
    name: "an unknown driver names the built-in ones and the near miss, and its section's other keys are left alone",
    text: 'storage:\n  driver: S4\n  whatever: 1\n',
    says: [
      'gameyard.yaml:2:11  storage.driver: `S4` is neither built in (local, s3) nor an installed package, did you mean `s3`?',
    ],
  },
  {
    name: 'a key of another driver of the family is unknown',
    text: 'storage: { driver: local, bucket: games }\n',
    says: ['gameyard.yaml:1:27  unknown key `bucket` in storage; expected driver, path, reserveBytes'],
  },
  {
    name: 'a short secret is refused and not repeated',
    text: 'secret: hunter2\n',
    says: ['gameyard.yaml:1:9  secret: expected text of 32 or more characters, found 7 characters'],
  },
  {
    name: 'a key that stands twice is refused',
    text: 'listen: { port: 1 }\nlisten: { port: 2 }\n',
    says: ['gameyard.yaml:2:1  this key stands twice in the same mapping; keep one'],
  },
  {
    name: 'a list item is named by its index',
    text: 'trustProxy:\n  - 10.0.0.1\n  - 5\n',
    says: ['gameyard.yaml:3:5  trustProxy[1]: expected text, found 5; put it in quotes if it is text'],
  },
  {
    name: 'a file that is no mapping',
    text: '- listen\n',
    says: ['gameyard.yaml:1:1  expected a mapping of sections, such as `listen: { port: 8080 }`'],
  },
]

for (const { name, text, says } of mistakes) {
  t.test(name, async (t) => {
    t.strictSame(await complaints(t, text), says)
  })
}

t.test('every mistake is reported at once, in the order of the file', async (t) => {
  const text = 'lgo: {}\nlisten: { port: x, hsot: y }\nstorage: { driver: s4 }\nsecret: short\n'
  const places = (await complaints(t, text)).map((line) => line.split('  ')[0])
  t.strictSame(places, [
    'gameyard.yaml:1:1',
    'gameyard.yaml:2:17',
    'gameyard.yaml:2:20',
    'gameyard.yaml:3:20',
    'gameyard.yaml:4:9',
  ])
})

t.test('broken YAML is refused with its line', async (t) => {
  const [first] = await complaints(t, 'listen:\n  port: "80\n')
  t.match(first, /^gameyard\.yaml:3:1 {2}this is not YAML: Missing closing/)
  t.match(await complaints(t, 'listen: !include other.yaml\n'), [
    /^gameyard\.yaml:1:9 {2}this is not YAML: Unresolved tag/,
  ])
  t.match(await complaints(t, 'listen:\n\tport: 80\n'), [/^gameyard\.yaml:2:1 /])
})

t.test('a file that was named and is not there is an error; the usual one may be absent', async (t) => {
  const missing = ['nope.yaml  there is no file nope.yaml; `gameyard init` writes one']
  t.strictSame(await complaints(t, null, { file: 'nope.yaml' }), missing)
  t.strictSame(await complaints(t, null, { env: { SERVICE_CONFIG: 'nope.yaml' } }), missing)
  const { file, config } = await load(t, null)
  t.equal(file, null)
  t.equal(config.listen.port, 8080)
})

t.test('keys that JavaScript objects have by nature are unknown keys too', async (t) => {
  t.match(await complaints(t, 'listen: { constructor: 1, __proto__: { port: 1 } }\n'), [
    /unknown key `constructor` in listen/,
    /unknown key `__proto__` in listen/,
  ])
})

t.test('an empty file and empty sections mean the defaults', async (t) => {
  const { config } = await load(t, '# nothing\nlisten:\nportal:\n')
  t.match(config, { listen: { host: '127.0.0.1', port: 8080 }, portal: { name: 'Gameyard' } })
})

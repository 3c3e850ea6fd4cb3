import Type, { type Static, type TObject, type TProperties } from 'typebox'

/** Declares an object of the configuration. It refuses unknown keys, so that typing errors are noticed at once. */
export const Section = <Properties extends TProperties>(
  properties: Properties,
  options: { description: string; default?: unknown },
): TObject<Properties> => Type.Object(properties, { additionalProperties: false, ...options }) as TObject<Properties>

/** Declares a secret: its value is masked wherever the configuration is shown, and may be `{ file }` or `{ env }`. */
export const Secret = (options: { description: string; default?: string; minLength?: number; pattern?: string }) =>
  Type.String({ ...options, secret: true })

/** Declares certificates in PEM that are trusted instead of those of the system: the text, or `{ file }` or `{ env }`. */
export const Authorities = (whose: string) =>
  Type.Optional(
    Secret({
      pattern: '-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]+-----END (TRUSTED )?CERTIFICATE-----',
      description: `Certificates of the authorities of ${whose}, in PEM, instead of those of the system: { file: ca.pem }.`,
    }),
  )

/** The address and credentials of an S3 bucket. */
export const bucketKeys = {
  endpoint: Type.Optional(
    Type.String({ pattern: '^https?://[^?#]+$', description: 'Address of an S3-compatible server; none for AWS.' }),
  ),
  region: Type.String({ default: 'us-east-1', minLength: 1, description: 'Region of the bucket.' }),
  bucket: Type.String({ minLength: 3, maxLength: 63, description: 'Name of the bucket; it must exist.' }),
  accessKeyId: Type.String({ minLength: 1, description: 'Access key.' }),
  secretAccessKey: Secret({ description: 'Secret of the access key.' }),
  ca: Authorities('the S3 server'),
  forcePathStyle: Type.Boolean({ default: false, description: 'Bucket in the path: most servers but AWS need it.' }),
  prefix: Type.String({
    default: '',
    pattern: '^([A-Za-z0-9._-]+/)*$',
    maxLength: 256,
    description: 'Prefix of all keys, ending in /, to share a bucket.',
  }),
}

const LegalText = (what: string) =>
  Type.String({
    minLength: 1,
    maxLength: 1000,
    examples: ['https://example.org/legal'],
    description: `${what}: a web address, or a Markdown file, relative to the configuration file.`,
  })

const Url = (description: string, fallback: string) =>
  Type.String({
    description,
    default: fallback,
    pattern: '^https?://[^/?#@\\s]+$',
    examples: ['https://play.example.org'],
  })

/** The sections of the kernel. Every other section belongs to a driver family or a plugin. */
export const kernelSections = {
  listen: Section(
    {
      host: Type.String({
        default: '127.0.0.1',
        description: 'Address to listen on; 0.0.0.0 for a LAN or a server.',
      }),
      port: Type.Integer({ default: 8080, minimum: 0, maximum: 65535, description: 'TCP port; 0 picks a free one.' }),
      socket: Type.String({
        default: '',
        maxLength: 100,
        description:
          'Unix socket to listen on instead of host and port, for a proxy on this machine, relative to this file; none: TCP.',
      }),
      processes: Type.Union([Type.Integer({ minimum: 1, maximum: 64 }), Type.Literal('auto')], {
        default: 1,
        description:
          'How many processes serve on this machine. auto: one for each core, eight at most, and one fewer where Blender runs here.',
      }),
      tls: Section(
        {
          cert: Type.String({
            default: '',
            description:
              'File with the certificate and those above it, in PEM, relative to this file; none: plain http.',
          }),
          key: Type.String({ default: '', description: 'File with its private key, in PEM.' }),
          redirectPort: Type.Integer({
            default: 0,
            minimum: 0,
            maximum: 65535,
            description: 'Port of plain http that leads every visitor to https, such as 80; 0: none.',
          }),
          challenges: Type.String({
            default: '',
            description:
              'Folder whose .well-known/acme-challenge is served on that port: what certbot calls --webroot-path.',
          }),
        },
        { description: 'Serve https without a proxy. Renewed files are taken without a restart.', default: {} },
      ),
    },
    { description: 'Where the process listens.', default: {} },
  ),
  trustProxy: Type.Union([Type.Boolean(), Type.String(), Type.Array(Type.String())], {
    default: false,
    description: 'Proxies whose X-Forwarded-* headers are believed: false, or addresses and subnets.',
  }),
  dataDir: Type.String({
    default: './data',
    description: 'Database, blobs and keys. Back up this folder. Relative to the configuration file.',
  }),
  secret: Type.Optional(
    Secret({
      minLength: 32,
      description:
        'The secret that keys are derived from, 32 characters or more; or base64: and the 32 bytes of keys/secret in base64. Needed when several machines share a database; otherwise made on the first start and kept in the data folder.',
    }),
  ),
  portal: Section(
    {
      url: Url('Public address of the portal.', 'http://localhost:8080'),
      formerUrls: Type.Array(Type.String({ pattern: '^https?://[^/?#@\\s]+$', maxLength: 300 }), {
        default: [],
        maxItems: 50,
        examples: [['http://localhost:8080']],
        description: 'Addresses that the portal or the Studio had before; visitors are redirected to the present one.',
      }),
      name: Type.String({ default: 'Gameyard', minLength: 1, maxLength: 60, description: 'Name shown on every page.' }),
      legal: Section(
        {
          operator: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 200,
              examples: ['Example Ltd.'],
              description: 'Who runs this platform: a name, or a company.',
            }),
          ),
          contact: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 300,
              examples: ['host@example.org'],
              description: 'How to reach them: an email or web address.',
            }),
          ),
          terms: Type.Optional(LegalText('The terms of use')),
          privacy: Type.Optional(LegalText('The privacy notice')),
        },
        { description: 'Shown in the footer of every page and at sign-up.', default: {} },
      ),
      designPage: Type.Boolean({
        default: false,
        description: 'Shows every component of the pages in every state under /design; for those who work on them.',
      }),
    },
    { description: 'The portal: sign-in, games, settings.', default: {} },
  ),
  studio: Section(
    { url: Url('Public address of the Studio; may be the portal itself.', 'http://localhost:8080') },
    { description: 'The Studio: assets and Blender jobs.', default: {} },
  ),
  games: Section(
    {
      domain: Type.String({
        default: 'localhost:8080',
        pattern: '^[a-z0-9.-]+(:[0-9]+)?$',
        examples: ['example-games.net'],
        description: 'Games live at <slug>.<domain>; with its port when that is not the usual one.',
      }),
      formerDomains: Type.Array(Type.String({ pattern: '^[a-z0-9.-]+(:[0-9]+)?$', maxLength: 253 }), {
        default: [],
        maxItems: 50,
        examples: [['localhost:8080']],
        description: 'Former values of games.domain. Requests there are redirected to the present address of the game.',
      }),
      origins: Type.Union([Type.Literal('subdomain'), Type.Literal('port')], {
        default: 'subdomain',
        description: 'subdomain: a name for each game. port: a port for each game, for LANs without DNS.',
      }),
      publish: Type.Union([Type.Literal('open'), Type.Literal('approve'), Type.Literal('trusted')], {
        default: 'open',
        description:
          "open: every player publishes. approve: a new account's first game waits for staff (/admin/approvals). trusted: only players whom staff trust publish; the games of others wait.",
      }),
      allowSameSite: Type.Boolean({
        default: false,
        description: 'Allow games on the registrable domain of the portal. Games can then interfere with its cookies.',
      }),
    },
    { description: 'Where games are served, and who publishes them.', default: {} },
  ),
  lan: Section(
    {
      enabled: Type.Boolean({
        default: false,
        description:
          'The mode for one network without internet, as by `gameyard serve --lan`: listens on the address below, where the portal then is, with a port for each game, guests welcome and sign-up open.',
      }),
      address: Type.String({
        default: 'auto',
        pattern: '^(auto|[0-9]{1,3}(\\.[0-9]{1,3}){3})$',
        description: 'Address of this machine in that network; auto finds it.',
      }),
      name: Type.String({
        default: 'gameyard',
        pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
        description: 'Announced as <name>.local by multicast DNS; leads to the address.',
      }),
      https: Type.Boolean({
        default: false,
        description: 'Serve https, by a certificate authority made on the first start; every device has to trust it.',
      }),
    },
    { description: 'A game jam in one room.', default: {} },
  ),
  backup: Section(
    {
      schedule: Type.Optional(
        Type.String({
          pattern: '^\\S+( \\S+){4}$',
          examples: ['30 3 * * *'],
          description:
            'When to back up, as the five fields of cron in the time zone of the machine: "30 3 * * *" is 3:30 each night. Without it there are no backups but those of `gameyard backup`.',
        }),
      ),
      keep: Type.Integer({ default: 7, minimum: 1, description: 'How many to keep; older ones are removed.' }),
      to: Type.Union(
        [
          Type.String({ minLength: 1 }),
          Type.Object({ driver: Type.Literal('s3'), ...bucketKeys }, { additionalProperties: false }),
        ],
        {
          default: './backups',
          description:
            'A folder, relative to this file and better on another disk, or { driver: s3, bucket, … } as for storage.',
        },
      ),
    },
    { description: 'Backups on a schedule, each restored and checked before it counts.', default: {} },
  ),
  metrics: Section(
    { token: Type.Optional(Secret({ description: 'Bearer token for /metrics from elsewhere than this machine.' })) },
    { description: 'Prometheus metrics.', default: {} },
  ),
  telemetry: Section(
    {
      endpoint: Type.Optional(
        Type.String({
          pattern: '^https?://[^?#\\s]+$',
          examples: ['http://127.0.0.1:4318'],
          description: 'Where an OpenTelemetry collector takes OTLP over HTTP. Without it nothing is traced.',
        }),
      ),
      headers: Type.Optional(Secret({ description: 'Sent along, as name=value,name=value.' })),
      serviceName: Type.String({
        default: 'gameyard',
        minLength: 1,
        description: 'The name of this platform in traces.',
      }),
      sampleRatio: Type.Number({ default: 1, minimum: 0, maximum: 1, description: 'The part of all traces to send.' }),
    },
    { description: 'Traces of requests, jobs, database and AI calls, by OpenTelemetry.', default: {} },
  ),
  log: Section(
    {
      level: Type.Union(
        ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => Type.Literal(level)),
        { default: 'info', description: 'How much is logged.' },
      ),
    },
    { description: 'The log: readable on a terminal, JSON elsewhere.', default: {} },
  ),
}

/** The default of `limits.requestBodyBytes`. */
export const REQUEST_BODY_BYTES = 65_536

/** The kernel's values under `limits`; plugins add their own. */
export const kernelLimits = {
  rateLimits: Type.Boolean({ default: true, description: 'false turns every rate limit off.' }),
  requestsPerMinute: Type.Integer({
    default: 600,
    minimum: 1,
    description: 'Requests a minute to APIs and pages, by signed-in caller or else by address.',
  }),
  requestBodyBytes: Type.Integer({
    default: REQUEST_BODY_BYTES,
    minimum: 1024,
    description:
      'Largest JSON body of a signed-in caller, on routes without a larger limit of their own. A form may have a quarter of it, 16 KiB at least. A body of a caller who is not signed in may have an eighth, 8 KiB at least.',
  }),
  uploadsPerPlayer: Type.Integer({
    default: 4,
    minimum: 1,
    description: 'Uploads of one player that may be under way, by one node; the files of a deploy are counted apart.',
  }),
  uploadBytesPerSecond: Type.Integer({
    default: 16_384,
    minimum: 1,
    description: 'The rate below which an upload is cut off.',
  }),
  uploadWindowSeconds: Type.Integer({
    default: 30,
    minimum: 1,
    description:
      'How long an upload may be slower than that; also what every upload has beyond the time of its length.',
  }),
  slowReaderSeconds: Type.Integer({
    default: 30,
    minimum: 1,
    description: 'A client that takes less than 1 KiB a second of its answer for so long is cut off.',
  }),
  stalledPerAddress: Type.Integer({
    default: 32,
    minimum: 1,
    description:
      'Connections of one address that do not read their answer, or go on with a body that was answered; those that do longest are cut off. Not counted for trusted proxies (trustProxy).',
  }),
  connectionsPerAddress: Type.Integer({
    default: 512,
    minimum: 1,
    description:
      'Open connections of one address (for IPv6 of its /64), sockets of rooms included, by one node. At the limit a new connection closes the oldest one without a pending request. A school or an office behind one address needs three for each person at play. Not counted for trusted proxies (trustProxy).',
  }),
  shutdownSeconds: Type.Integer({ default: 10, minimum: 1, description: 'Longest time that a stop may take.' }),
}

type Sections = { [Name in keyof typeof kernelSections]: Static<(typeof kernelSections)[Name]> }

/** The complete configuration with defaults, environment and secrets, which `createKernel` takes. */
export type Config = Omit<Sections, 'secret'> & {
  secret?: string
  limits: { [Name in keyof typeof kernelLimits]: Static<(typeof kernelLimits)[Name]> } & Record<string, unknown>
  /** The section of a driver family: the driver's name and its own keys. */
  [family: string]: unknown
}

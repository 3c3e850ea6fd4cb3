import pino, { type DestinationStream, type Logger } from 'pino'

/**
 * The program's log. Secrets can't slip in by way of a whole object: the fields that carry them are masked wherever
 * they stand near the top, requests are logged as method and path (a query may hold an authorization code), and the
 * URL of an error is cut at its query.
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[masked]' },
    serializers: {
      err: pino.stdSerializers.err,
      req: (request: { method?: string; url?: string }) => ({ method: request.method, path: pathOf(request.url) }),
      res: (reply: { statusCode?: number }) => ({ status: reply.statusCode }),
    },
  }
  return destination ? pino(options, destination) : pino(options)
}

const SECRET_FIELDS = [
  'authorization',
  'cookie',
  '["set-cookie"]',
  'password',
  'token',
  'secret',
  'client_secret',
  'clientSecret',
  'code',
  'code_verifier',
  'refresh_token',
  'access_token',
  'secretAccessKey',
  'apiKey',
].map((field) => field)

/** A URL without its query. */
export const pathOf = (url: string | undefined): string => (url ?? '').split('?', 1)[0] as string

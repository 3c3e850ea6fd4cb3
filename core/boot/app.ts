import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Connections } from '../http/connections.ts'
import { rejectBadUrl } from '../http/error-handler.ts'
import type { FastPath } from '../http/fast-path.ts'
import { proxyTest } from '../http/limits/address-limit.ts'
import { ForwardedFor } from '../http/limits/forwarded-for.ts'
import { PARSER_OPTIONS } from '../http/request-rules.ts'
import { serializerCompiler, validatorCompiler } from '../http/validation.ts'
import { requestIds } from '../ids.ts'
import { RequestLog } from '../observe/request-log.ts'
import type { Origins } from '../origins/origins.ts'

/**
 * The timeout of one plugin and of the `onReady` hooks. Fastify's default of 10 s is too short for a small, busy
 * machine.
 */
const SLOWEST_START_MS = 120_000

/** Creates the Fastify app with the options of the whole program. */
export function createApp(
  config: Config,
  {
    log,
    origins,
    connections,
    fastPath,
  }: { log: Logger; origins: Origins; connections: Connections; fastPath: FastPath },
): FastifyInstance {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }), // core/http/request-rules.ts logs requests
    trustProxy: config.trustProxy,
    genReqId: requestIds(),
    requestIdHeader: false,
    bodyLimit: config.limits.requestBodyBytes,
    forceCloseConnections: 'idle',
    pluginTimeout: SLOWEST_START_MS,
    serverFactory: (handler) => fastPath.createServer(handler),
    childLoggerFactory: (parent, bindings, options) => new RequestLog(parent, bindings, options),
    frameworkErrors: (error, request, reply) => rejectBadUrl(app, error, request, reply),
    clientErrorHandler: (error, socket) => connections.answerClientError(error, socket),
    ...PARSER_OPTIONS,
    routerOptions: { constraints: { origin: origins.constraint() } as never, maxParamLength: 1024 },
  }) as unknown as FastifyInstance
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.decorateRequest('principal', null)
  app.decorateRequest('endScope', null)
  if (config.trustProxy !== false) {
    const forwardedFor = new ForwardedFor(log, proxyTest(config.trustProxy))
    app.addHook('onRequest', (request, _reply, done) => {
      forwardedFor.normalize(request.raw)
      done()
    })
  }
  nameRegistrations(app)
  return app
}

/**
 * Gives each registered function its name as the display name. Without one, Fastify twice compares the function with
 * every CommonJS module of the process, which takes a twentieth of the start.
 */
function nameRegistrations(app: FastifyInstance): void {
  const { register } = app
  app.register = function (this: FastifyInstance, ...[plugin, options]: Parameters<typeof register>) {
    if (typeof plugin === 'function') (plugin as NamedPlugin)[DISPLAY_NAME] ??= plugin.name || 'anonymous'
    return register.call(this, plugin, options)
  } as typeof register
}

const DISPLAY_NAME = Symbol.for('fastify.display-name')
type NamedPlugin = { [DISPLAY_NAME]?: string }

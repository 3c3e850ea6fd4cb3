import cookie from '@fastify/cookie'
import type { FastifyInstance } from 'fastify'
import { installCompression } from '../http/compression.ts'
import { installCors } from '../http/cors.ts'
import { installErrorHandlers } from '../http/error-handler.ts'
import { installPrivateCaching } from '../http/headers.ts'
import { installIdempotency } from '../http/idempotency.ts'
import { bodyLimitsOf, registerBodyLimits } from '../http/limits/body-limits.ts'
import { registerRateLimits } from '../http/rate-limit.ts'
import { installRequestRules } from '../http/request-rules.ts'
import { installRouteContract } from '../http/routes.ts'
import { installSecurityHeaders } from '../http/security-headers.ts'
import { installUploadLimits } from '../http/uploads.ts'
import { registerHealth } from '../observe/health.ts'
import { type RequestMetrics, registerMetrics } from '../observe/metrics.ts'
import type { Telemetry } from '../observe/telemetry.ts'
import { collectOpenapi, registerReference } from '../openapi/openapi.ts'
import { browserFileRoutes } from '../pages/browser-files.ts'
import { registerDesign } from '../pages/design/routes.ts'
import { registerSiteFiles } from '../pages/site-files.ts'
import { registerSitemap } from '../pages/sitemap.ts'
import type { OpenedDriver } from './drivers.ts'

/** Installs the hooks of every route. The order of the calls is the order of the hooks. */
export async function installRules(app: FastifyInstance, telemetry: Telemetry | null): Promise<void> {
  const { bus, clock, config, origins } = app
  if (telemetry) await app.register(telemetry.plugin)
  await registerBodyLimits(app, bodyLimitsOf(config.limits))
  // Before what can refuse a request, so that its error has these headers, too.
  installSecurityHeaders(app, origins, { lan: config.lan.enabled })
  installPrivateCaching(app)
  installCors(app)
  installRouteContract(app)
  installRequestRules(app)
  installUploadLimits(app, config.limits)
  installIdempotency(app)
  await app.register(cookie)
  await registerRateLimits(app, { bus, clock, origins, limits: config.limits })
  await collectOpenapi(app, { version: app.programVersion, origins })
  installErrorHandlers(app)
  await installCompression(app)
}

/** Registers the kernel's own routes. */
export function registerKernelRoutes(app: FastifyInstance, requests: RequestMetrics, node: string): void {
  const { browserFiles, config, health, origins } = app
  registerHealth(app, health)
  registerMetrics(app, requests, { token: config.metrics.token, node })
  browserFileRoutes(app, { files: browserFiles, origins: origins.shared ? ['portal'] : ['portal', 'studio'] })
  registerReference(app)
  if (config.portal.designPage) registerDesign(app)
  registerSiteFiles(app)
  registerSitemap(app)
}

/** Adds health checks of the database, the bus and every driver that has a `ping`. */
export function addHealthChecks({ bus, db, health }: FastifyInstance, families: Record<string, OpenedDriver>): void {
  health.add('database', () => db.ping())
  // Without the bus each node works alone. As a vital check, its outage would take every node off the load balancer.
  health.add('bus', () => bus.ping(), { vital: false })
  for (const [family, driver] of Object.entries(families)) {
    if (driver.ping) health.add(family, () => Promise.resolve(driver.ping?.()))
  }
}

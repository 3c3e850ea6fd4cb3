import { parse } from 'node:querystring'
import formbody from '@fastify/formbody'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { type Config, REQUEST_BODY_BYTES } from '../../config.ts'
import { InvalidRequest } from '../../errors.ts'
import type { AuthRule } from '../auth.ts'

/** The sizes of bodies on routes without a limit of their own, in bytes. */
export interface BodyLimits {
  /** JSON where somebody is signed in. */
  json: number
  /** A form where somebody is signed in. */
  form: number
  /** Any body on routes that serve callers who are not signed in. */
  open: number
}

const FORM_BYTES = 16_384
const OPEN_BYTES = 8192
const MOST_PAIRS = 100

/** The longest form of one character in a body: three bytes of UTF-8, each percent-encoded in a form. */
const CHARACTER_BYTES = 9

/** Returns the `bodyLimit` of a route whose body has a text of that many characters, with space for other fields. */
export const bodyWithText = (characters: number): number => characters * CHARACTER_BYTES + OPEN_BYTES

/**
 * Derives all limits from `limits.requestBodyBytes`. A larger value raises the limits of forms and of open routes in
 * proportion. A smaller value does not lower them below their defaults, unless it is smaller itself.
 */
export function bodyLimitsOf({ requestBodyBytes: json }: Pick<Config['limits'], 'requestBodyBytes'>): BodyLimits {
  return {
    json,
    form: Math.min(json, Math.max(FORM_BYTES, json / 4)),
    open: Math.min(json, Math.max(OPEN_BYTES, json / 8)),
  }
}

/**
 * Bounds the bodies of all routes, since the work that a body causes grows with it. A route whose input is larger by
 * right has a `bodyLimit` of its own; the configuration may raise it, but does not lower it. Uploads have rules of
 * their own (core/http/uploads.ts).
 */
export async function registerBodyLimits(app: FastifyInstance, limits: BodyLimits): Promise<void> {
  const isRaised = limits.json > REQUEST_BODY_BYTES
  app.addHook('onRoute', (route) => {
    if (route.config?.upload) return
    if (route.bodyLimit === undefined) {
      // Without a limit of the route, that of the parser counts, which differs for JSON and forms.
      if (isOpen(route)) route.bodyLimit = limits.open
    } else if (isRaised && route.bodyLimit > OPEN_BYTES) {
      route.bodyLimit = Math.max(route.bodyLimit, isOpen(route) ? limits.open : limits.json)
    }
  })
  await app.register(formbody, { bodyLimit: limits.form, parser: parseForm })
}

/** Whether a route serves callers who are not signed in. */
function isOpen({ config }: RouteOptions): boolean {
  const auth = config?.auth as AuthRule | undefined
  return auth === 'none' || auth === 'optional'
}

/** @throws InvalidRequest for more pairs than any form of a page has, before they are decoded */
function parseForm(text: string): Record<string, unknown> {
  let pairs = 1
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    if (++pairs > MOST_PAIRS) throw new InvalidRequest(`The form has more than ${MOST_PAIRS} fields.`)
  }
  return parse(text, '&', '=', { maxKeys: MOST_PAIRS })
}

import Type from 'typebox'
import type { Routes } from '../../../core/http/routes.ts'
import { clientEndpoint, Parameter } from './client-endpoint.ts'
import { DEVICE_CODE_SECONDS, mustHaveOwner, POLL_SECONDS } from './device-codes.ts'
import { OAuthError } from './errors.ts'
import { readScope } from './scopes.ts'

const DeviceAuthorization = Type.Object({
  device_code: Type.String(),
  user_code: Type.String({ description: 'To show, as it is.' }),
  verification_uri: Type.String(),
  verification_uri_complete: Type.String({ description: 'With the code in it: for a link or QR code.' }),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  interval: Type.Integer({ description: 'Seconds between two questions at the token endpoint.' }),
})

/** The device authorization endpoint (RFC 8628 section 3.1). */
export const deviceAuthorizationRoutes: Routes = async (app) => {
  const { identity, origins } = app
  clientEndpoint(app, {
    url: '/api/oauth/device_authorization',
    fromPages: true,
    summary: 'Begin the sign-in of a device (RFC 8628)',
    parameters: {
      scope: Parameter(),
      label: Parameter('The name of the token or device; the player sees it.'),
      machine: Parameter('The name of the machine; the player sees it.'),
    },
    response: DeviceAuthorization,
    handle: async ({ form, client }) => {
      mustHaveOwner(client)
      if (await identity.suspendedClients.has(client)) {
        throw new OAuthError('access_denied', 'This game is suspended.')
      }
      // A built-in client requests no scope; its scope is fixed.
      const scope = identity.builtins.has(client.clientId) ? [] : readScope(form.scope)
      const { deviceCode, userCode } = await identity.devices.issue({
        clientId: client.clientId,
        scope,
        label: shown(form.label) || client.name.slice(0, 80),
        machine: shown(form.machine),
      })
      const page = `${origins.portal}/oauth/device`
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${userCode}`,
        expires_in: DEVICE_CODE_SECONDS,
        interval: POLL_SECONDS,
      }
    },
  })
}

/** Makes untrusted text safe to display: one short line without characters that reverse or hide text. */
const shown = (text = ''): string =>
  text
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 80)

import { Api } from './api.ts'
import type { Account, Credentials } from './credentials.ts'
import { CliError } from './errors.ts'

/** `GET /api/cli/whoami`. */
export interface Whoami {
  user: { id: string; name: string; email?: string }
  tokenLabel: string
}

export interface SignIn {
  baseUrl: string
  token: string
  userAgent: string
}

/**
 * Stores a token after the platform has confirmed its account. The previous token of this machine is revoked, so that
 * old sign-ins don't accumulate in the settings.
 *
 * @param revocable whether the token was just created for this machine and is revoked if it can't be stored
 */
export async function keepToken(
  credentials: Credentials,
  { baseUrl, token, userAgent }: SignIn,
  { revocable }: { revocable: boolean },
): Promise<Account> {
  const api = new Api({ baseUrl, token, tokenFrom: 'login', userAgent })
  const before = (await credentials.read()).platforms[baseUrl]
  try {
    const { user, tokenLabel } = await whoami(api)
    const account = { token, user, label: tokenLabel, savedAt: new Date().toISOString() }
    await credentials.save(baseUrl, account)
    if (before && before.token !== token && before.token.startsWith('svc_cli_'))
      await revoke(baseUrl, before, userAgent)
    return account
  } catch (error) {
    if (revocable) await api.delete('/api/cli/tokens').catch(() => {})
    throw error
  }
}

export const whoami = (api: Api): Promise<Whoami> => api.get('/api/cli/whoami')

/** Revokes a sign-in's token. @returns false when the platform does not know the token or does not respond */
export async function revoke(baseUrl: string, { token }: Pick<Account, 'token'>, userAgent: string): Promise<boolean> {
  const api = new Api({ baseUrl, token, tokenFrom: 'login', userAgent })
  try {
    await api.delete('/api/cli/tokens')
    return true
  } catch (error) {
    if (error instanceof CliError) return false
    throw error
  }
}

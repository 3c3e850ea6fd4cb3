import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import type { SecretKind } from '../live-secrets.ts'
import { ACCESS_TOKEN_PREFIX } from './access-tokens.ts'
import { REFRESH_TOKEN_PREFIX } from './grants.ts'

/** 32 random bytes in base64url. */
const LENGTH = 43

/** Returns the secrets of OAuth applications, and of the tokens that they get. */
export function secretKinds({ db, clock }: { db: Database; clock: Clock }): SecretKind[] {
  /** @param until the column of the time at which it ends */
  const select = async (
    { table, column, until }: { table: string; column: string; until?: string },
    digests: readonly string[],
  ) => {
    const among = `select ${column} as digest from ${table} where ${column} in (${digests.map(() => '?').join(', ')})`
    const rows = await db.query<{ digest: string }>(
      until ? `${among} and ${until} > ?` : among,
      until ? [...digests, clock.now()] : digests,
    )
    return rows.map(({ digest }) => digest)
  }
  return [
    {
      name: 'a client secret',
      prefix: 'svc_secret_',
      length: LENGTH,
      async live(digests) {
        const current = await select({ table: 'oauth_apps', column: 'secret_hash' }, digests)
        const replaced = { table: 'oauth_apps', column: 'old_secret_hash', until: 'old_secret_until' }
        return [...current, ...(await select(replaced, digests))]
      },
    },
    {
      name: 'an access token',
      prefix: ACCESS_TOKEN_PREFIX,
      length: LENGTH,
      live: (digests) => select({ table: 'oauth_access_tokens', column: 'token_hash', until: 'expires_at' }, digests),
    },
    {
      name: 'a refresh token',
      prefix: REFRESH_TOKEN_PREFIX,
      length: LENGTH,
      live: (digests) => select({ table: 'oauth_refresh_tokens', column: 'token_hash', until: 'expires_at' }, digests),
    },
  ]
}

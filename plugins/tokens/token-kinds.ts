import type { Clock } from '../../core/clock.ts'
import type { Database } from '../../core/data/database.ts'
import type { SecretKind } from '../oauth-idp/index.ts'
import { TOKEN_LENGTH } from './token-format.ts'

/** Returns the tokens as kinds of secrets that nobody should publish. */
export function tokenKinds({ db, clock }: { db: Database; clock: Clock }): SecretKind[] {
  const live = async (digests: readonly string[]) => {
    const rows = await db.query<{ digest: string }>(
      `select token_hash as digest from api_tokens
       where (expires_at is null or expires_at > ?) and token_hash in (${digests.map(() => '?').join(', ')})`,
      [clock.now(), ...digests],
    )
    return rows.map(({ digest }) => digest)
  }
  return [
    { name: 'an API token', prefix: 'svc_api_', length: TOKEN_LENGTH, live },
    { name: 'a token of the command line', prefix: 'svc_cli_', length: TOKEN_LENGTH, live },
  ]
}

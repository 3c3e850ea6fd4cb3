import type { Migration } from '../../core/data/migrations.ts'
import { migration as identityTables } from './migrations/2026_11_21_identity.ts'
import { migration as addresses } from './migrations/2026_11_23_addresses.ts'
import { migration as moderators } from './migrations/2026_11_23_moderators.ts'
import { migration as protectedResources } from './migrations/2026_11_23_protected_resources.ts'
import { migration as trusted } from './migrations/2026_11_23_trusted.ts'
import { migration as consentUses } from './migrations/2026_11_24_consent_uses.ts'
import { migration as disabledCause } from './migrations/2026_11_26_disabled_cause.ts'
import { migration as idTokenAlgorithms } from './migrations/2026_11_26_id_token_algorithms.ts'
import { migration as longNames } from './migrations/2026_11_26_long_names.ts'
import { migration as secretDigests } from './migrations/2026_11_26_secret_digests.ts'
import { namesMigration } from './migrations/2026_11_28_names.ts'
import { codeSessions } from './migrations/2026_11_29_code_sessions.ts'
import { lookUpsMigration } from './migrations/2026_11_29_look_ups.ts'
import { newsMigration } from './migrations/2026_11_29_news.ts'

/** The migrations in the order in which they run. */
export const migrations: Migration[] = [
  identityTables,
  addresses,
  moderators,
  trusted,
  protectedResources,
  consentUses,
  longNames,
  idTokenAlgorithms,
  disabledCause,
  secretDigests,
  namesMigration,
  codeSessions,
  newsMigration,
  lookUpsMigration,
]

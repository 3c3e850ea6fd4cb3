import { defineError } from '../../core/errors.ts'

// The kernel itself stands on the database, so the contract is written there; drivers import it from here.
export {
  BackupUnsupported,
  type DatabaseDriver,
  type Entity,
  type Parameter,
  type Statements,
} from '../../core/data/database.ts'

export const DatabaseUnavailable = defineError('database_unavailable', 503, 'The database does not answer.')

/** Another transaction, of this process or another, held the database for too long. */
export const DatabaseBusy = defineError('database_busy', 503, '%s')

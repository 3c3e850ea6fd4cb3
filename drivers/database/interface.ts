import { defineError } from '../../core/errors.ts'

// The kernel uses the database itself, so it defines the contract; drivers import it from here.
export {
  BackupUnsupported,
  type DatabaseDriver,
  type Entity,
  type Parameter,
  type Statements,
} from '../../core/data/database.ts'

export const DatabaseUnavailable = defineError('database_unavailable', 503, 'The database does not answer.')

/** Another transaction, of this process or another, holds the database for too long. */
export const DatabaseBusy = defineError('database_busy', 503, '%s')

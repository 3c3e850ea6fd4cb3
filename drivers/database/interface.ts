import { defineError, RETRY_SOON } from '../../core/errors.ts'

// The kernel uses the database itself, so it defines the contract; drivers import it from here.
export {
  BackupUnsupported,
  type DatabaseDriver,
  type Entity,
  type Parameter,
  type Statements,
} from '../../core/data/database.ts'

export const DatabaseUnavailable = defineError('database_unavailable', 503, 'The database does not answer.', RETRY_SOON)

/** Others hold the database for too long. The log has the cause. */
export class DatabaseBusy extends defineError('database_busy', 503, 'The database of this server %s. Try again.') {
  override headers = { 'retry-after': '1' }
}

import type { Check } from '../../clients/cli/doctor.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { DatabaseDriver } from '../../core/data/database.ts'
import { openDriver } from '../open-driver.ts'
import { hasDatabase } from './database-file.ts'

const NAME = 'Domains'

interface Row {
  name: string
  address: string | null
  failing_since: number | null
}

/**
 * Checks the custom domains of games: their DNS proof and where they resolve to, from the last look of the platform.
 */
export async function gameDomains(loaded: LoadedConfig): Promise<Check[]> {
  const { dataDir } = loaded.config
  const driver = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
  try {
    if (!(await hasDatabase(loaded, driver))) return []
    await driver.open([])
    const rows = (await driver
      .query('select name, address, failing_since from game_domains where proved_name is not null order by name', [])
      // The query fails on a database from before custom domains, or when the server is down, which another check
      // reports.
      .catch(() => [])) as Row[]
    const checks = rows.flatMap(findingOf)
    if (rows.length === 0 || checks.length > 0) return checks
    return [{ name: NAME, status: 'ok', message: `${rows.length} of games' own, and all lead here` }]
  } finally {
    await driver.close()
  }
}

function findingOf({ name, address, failing_since }: Row): Check[] {
  const warning = (message: string, hint: string): Check[] => [{ name: NAME, status: 'warning', message, hint }]
  if (failing_since !== null)
    return warning(
      `the proof of ${name} has gone from the DNS`,
      'Its owner got a notice. Without the record, the domain stops working within days: /admin/domains',
    )
  if (address === 'missing' || address === 'elsewhere')
    return warning(
      `${name} does not lead here`,
      'Its owner sees the record that it needs in the settings of the game. Behind a proxy of their own all is well.',
    )
  return []
}

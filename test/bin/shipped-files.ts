import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const BACKUP = /# backup:\n#( {3}schedule: .*)\n#( {3}keep: .*)\n#( {3}to: .*)\n/

/** The unit that the project ships. */
export const UNIT: string = readFileSync(join(root, 'deploy/gameyard.service'), 'utf8')

/** Returns the shipped configuration with its backups turned on, and with another port. */
export function shippedConfiguration(port: number): string {
  const text = readFileSync(join(root, 'config/files/single-server.yaml'), 'utf8')
  return text.replace(BACKUP, 'backup:\n$1\n$2\n$3\n').replace('port: 8080', `port: ${port}`)
}

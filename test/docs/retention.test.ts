import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startPlatform } from '../kit/platform.ts'

const GUIDE = join(import.meta.dirname, '../../docs/self-hosting.md')

/** Returns each row of the guide's table about retention, with the database tables that it names. */
function tablesIn(text: string): { tables: string[]; kept: string }[] {
  const section = /## How long things are kept\n(.*?)\n## /s.exec(text)?.[1] ?? ''
  return section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, , names = '', kept = '']) => ({
      tables: [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name as string),
      kept,
    }))
    .filter(({ tables }) => tables.length > 0)
}

t.test('every table of the database has a rule how long its rows are kept, and one only', async (t) => {
  const rules = tablesIn(readFileSync(GUIDE, 'utf8'))
  const { app } = await startPlatform(t)
  const rows = await app.db.query<{ name: string }>("select name from sqlite_master where type = 'table' order by name")
  const tables = rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_'))
  t.ok(tables.length > 50, `${tables.length} tables`)
  t.same(rules.flatMap((rule) => rule.tables).toSorted(), tables)
  for (const { tables, kept } of rules) t.match(kept, /\w{3}/, tables.join(', '))
})

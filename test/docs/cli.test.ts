// The guide of the command line names every command.
import t from 'tap'
import { COMMANDS } from '../../bin/command-list.ts'
import { guideText } from './blocks.ts'

t.test('the table of commands has all of them', (t) => {
  const rows = guideText('cli')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ')[0])
    .join()
  for (const { name } of COMMANDS) t.match(rows, new RegExp(`\`${name}\\b`), name)
  t.end()
})

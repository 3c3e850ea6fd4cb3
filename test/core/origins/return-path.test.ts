import t from 'tap'
import { returnPath } from '../../../core/origins/return-path.ts'
import { HOSTILE_PATHS, SAFE_PATHS } from '../../kit/return-paths.ts'

t.test('a way back stays on its site', async (t) => {
  for (const origin of ['http://localhost:8080', 'https://yard.example']) {
    for (const [wanted, path] of SAFE_PATHS) t.equal(returnPath(wanted, origin), path)
    for (const wanted of HOSTILE_PATHS) t.equal(returnPath(wanted, origin), '/', JSON.stringify(wanted))
    t.equal(returnPath(undefined, origin), '/')
    t.equal(returnPath(['/a'], origin), '/')
  }
  t.ok(HOSTILE_PATHS.length >= 60)
})

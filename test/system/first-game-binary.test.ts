import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { openBrowser } from '../kit/browser.ts'
import { startServer } from '../kit/server.ts'
import { playFirstGame } from './first-game-story.ts'

const root = resolve(import.meta.dirname, '../..')

t.test('the same story from the single binary, alone in an empty folder', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  execFileSync(process.execPath, [join(root, 'build/binary.ts')], {
    stdio: 'pipe',
    env: { PATH: process.env.PATH },
  })
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-binary-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const binary = join(folder, 'gameyard')
  copyFileSync(join(root, 'dist/gameyard'), binary)

  const server = await startServer(t, { program: [binary], folder, config: { portal: { name: 'The Yard' } } })
  await playFirstGame(t, browser, server)
  t.equal(await server.stop(), 0, 'it stops when told to')
  t.same(readdirSync(folder).sort(), ['data', 'gameyard', 'gameyard.yaml'], 'and leaves nothing but its data')
})

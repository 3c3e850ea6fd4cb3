import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { startPlatform } from '../kit/platform.ts'

t.test('every metric that the dashboard names is one of /metrics', async (t) => {
  const platform = await startPlatform(t, { config: { metrics: { token: 'a-metrics-token' } } })
  await platform.stranger.get('/')
  const { text } = await platform.stranger.get('/metrics', { headers: { authorization: 'Bearer a-metrics-token' } })
  const offered = new Set([...text.matchAll(/^(gameyard_\w+)/gm)].map(([, name]) => name))
  // Registered by bin/scheduled-backups.ts, where there is a schedule; its own test looks at it.
  offered.add('gameyard_backup_last_success_timestamp_seconds')
  const dashboard = readFileSync(resolve(import.meta.dirname, '../../deploy/grafana-dashboard.json'), 'utf8')
  const named = new Set(dashboard.match(/gameyard_\w+/g))
  t.ok(named.size >= 8)
  for (const name of named) t.ok(offered.has(name), name)
  const { panels } = JSON.parse(dashboard)
  t.equal(new Set(panels.map(({ id }: { id: number }) => id)).size, panels.length, 'each panel has an id of its own')
})

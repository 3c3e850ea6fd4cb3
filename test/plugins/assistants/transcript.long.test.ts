// What an assistant does from an empty folder, only by tools: a game with a room script and a leaderboard, a model, a
// Blender job, a script that the platform refuses, one that throws in a room, its correction, and the way back.
import t from 'tap'
import { hasPrograms } from '../../kit/components.ts'
import { startPlatform } from '../../kit/platform.ts'
import { mesh, wave } from '../assets/models.ts'
import { headersOf, RoomSocket, signInTo } from '../multiplayer/kit.ts'
import { connect } from './client.ts'

const PAGE = `<!doctype html><title>Dots</title><script type="module">
import { join } from '/__service/multiplayer.js'
const room = await join('lobby')
</script>`
const SCRIPT = `export function message(room, player, type, data) {
  room.state.set(player.id, data)
}
`

t.test('an assistant makes a whole game', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, { listen: true, config: { blender: { driver: 'subprocess' } } })
  const ada = await platform.signUp({ name: 'Ada' })
  const { token } = await platform.program(ada)
  const { client, call } = await connect(t, platform, token as string)

  const { json: game } = await call('game_create', { title: 'Dots', description: 'Dots that meet.' })
  const files = { 'index.html': PAGE, 'room.js': SCRIPT }
  const first = await call('deploy_files', { gameId: game.id, files, whole: true, room: 'room.js' })
  t.match(first, { refused: false, json: { deployId: /^dep_/ } })
  t.match((await call('boards_set', { id: game.id, boardId: 'most', title: 'Most dots' })).json, { id: 'most' })

  const model = await mesh([wave(6)])
  const upload = { fileName: 'wave.glb', base64: model.toString('base64'), title: 'A wave', visibility: 'public' }
  const { json: asset } = await call('asset_upload', upload)
  t.match(asset, { kind: 'model', title: 'A wave', fileUrl: String })
  t.match((await call('assets_search', { q: 'wave' })).json.assets, [{ id: asset.id }])
  t.match((await call('asset_get', { id: asset.slug })).json, { id: asset.id })

  const { templates } = (await call('blender_templates')).json
  t.ok(templates.some(({ id }: { id: string }) => id === 'prop'))
  const news: number[] = []
  const options = {
    onprogress: ({ progress }: { progress: number }) => news.push(progress),
    resetTimeoutOnProgress: true,
  }
  const submit = { name: 'blender_submit', arguments: { name: 'A chest', template: 'prop' } }
  const made = await client.callTool(submit, options)
  const [text, picture] = made.content
  t.match(JSON.parse(text?.type === 'text' ? text.text : ''), { status: 'completed', artifacts: [{ name: String }] })
  t.match(picture, { type: 'image', mimeType: 'image/png' })
  t.ok(news.length > 0, `${news.length} times progress`)
  const job = JSON.parse(text?.type === 'text' ? text.text : '')
  const from = `${job.id}/model.glb`
  const into = { gameId: game.id, files: { 'chest.glb': { from } }, preview: true }
  const { deployId } = (await call('deploy_files', into)).json
  const { size } = job.artifacts.find(({ name }: { name: string }) => name === 'model.glb')
  const listed = (await call('game_files', { id: game.id, deployId })).json.files
  t.match(
    listed.filter(({ path }: { path: string }) => path === 'chest.glb'),
    [{ size }],
  )
  const stored = await call('asset_upload', { fileName: 'chest.glb', title: 'Chest', from })
  t.match(stored.json, { id: /^ast_/, kind: 'model', files: [{ size: Number }] })

  const stop = new AbortController()
  const slow = { name: 'Slow', script: 'import time\ntime.sleep(120)\n' }
  const pending = client.callTool(
    { name: 'blender_submit', arguments: slow },
    { ...options, onprogress: () => stop.abort(), signal: stop.signal },
  )
  await t.rejects(pending)
  const { jobs } = await platform.app.blender.list(ada.id, { limit: 1 })
  for (;;) {
    const { status } = await platform.app.blender.get(ada.id, jobs[0]?.id as string)
    if (status === 'cancelled') break
    await new Promise((next) => setImmediate(next))
  }
  t.pass('cancelling the call cancels the job')

  const broken = await call('deploy_files', { gameId: game.id, files: { 'room.js': 'export function message( {' } })
  t.match(broken, { refused: true, json: { error: { code: String, message: /room\.js/ } } })
  t.equal((await call('game_get', { id: game.id })).json.liveDeployId, first.json.deployId, 'the live build stays')
  const throwing = await call('deploy_files', {
    gameId: game.id,
    files: {
      'room.js': 'export function message(room, player, type, data) {\n  room.state.set(player.id, data.place.x)\n}\n',
    },
  })
  t.notOk(throwing.refused)
  const host = platform.gameHost(game.slug)
  await signInTo(ada, host)
  const player = new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(ada, host))
  t.match(await player.enter(), { room: { script: true } })
  player.say({ t: 'send', type: 'move', data: {} })
  let [line] = [] as object[]
  while (!line) line = (await call('game_logs', { id: game.id })).json.lines[0]
  t.match(line, { level: 'error', deployId: throwing.json.deployId, text: /place|undefined/, line: 2 })

  const mended = await call('deploy_files', {
    gameId: game.id,
    basedOn: throwing.json.deployId,
    files: { 'room.js': `${SCRIPT}export function join(room) { room.log('hello') }\n` },
    message: 'Mended',
  })
  t.notOk(mended.refused)
  t.match((await call('deploys_list', { id: game.id })).json.deploys[0], {
    id: mended.json.deployId,
    message: 'Mended',
    room: 'room.js',
  })
  t.notOk((await call('deploy_rollback', { deployId: first.json.deployId })).refused)
  t.match((await call('game_read_file', { id: game.id, path: 'room.js' })).json, { text: SCRIPT })
})

// Assistants give a game its pictures.
import t from 'tap'
import { startTeam } from '../../kit/team.ts'
import { png } from '../games/pictures.ts'
import { connect } from './client.ts'

t.test('an assistant adds pictures to a game, and removes them', async (t) => {
  const { platform, game, program, other } = await startTeam(t, { listen: true })
  const { call } = await connect(t, platform, program.token as string)
  const base64 = png(64, 8).toString('base64')
  const first = await call('media_add', { id: game.slug, base64 })
  t.match(first, { refused: false, json: { id: /^med_/, kind: 'image', width: 64, height: 8 } })
  const asset = await call('asset_upload', {
    fileName: 'boat.png',
    base64: png(32, 8).toString('base64'),
    title: 'Boat',
  })
  const second = await call('media_add', { id: game.id, from: asset.json.id, cover: true })
  t.match(second, { refused: false, json: { width: 32 } })
  const { json } = await call('game_get', { id: game.id })
  t.match(json, { coverUrl: second.json.url, media: [{ id: first.json.id }, { id: second.json.id }] })
  const mediaId = second.json.id
  t.match(await call('media_remove', { id: game.id, mediaId }), { refused: false, json: { removed: mediaId } })
  t.match((await call('game_get', { id: game.id })).json, { coverUrl: first.json.url, media: [{ id: first.json.id }] })

  for (const file of [{}, { base64, from: asset.json.id }, { base64: '§' }, { base64: 'R0lGODlh' }, { from: 'x' }])
    t.match(await call('media_add', { id: game.id, ...file }), { refused: true }, JSON.stringify(file).slice(0, 60))
  t.match(await call('media_remove', { id: game.id, mediaId }), {
    refused: true,
    json: { error: { code: 'not_found' } },
  })
  const stranger = await connect(t, platform, (await platform.program(other)).token as string)
  t.match(await stranger.call('media_add', { id: game.id, base64 }), {
    refused: true,
    json: { error: { code: 'not_found' } },
  })
  t.equal((await call('game_get', { id: game.id })).json.media.length, 1)
})

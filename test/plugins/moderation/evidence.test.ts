import t from 'tap'
import { png, sendFile } from '../games/pictures.ts'
import { openModeration } from './kit.ts'

t.test('what is suspended or reported is not deleted for good before the staff have decided', async (t) => {
  const { platform, moderator, owner, reporter, game, report } = await openModeration(t)
  const { games, assets } = platform.app
  const program = await platform.program(owner)
  const asset = (await sendFile(program, '/api/assets', png(9, 9))).body
  t.equal((await program.post(`/api/assets/${asset.id}/publish`)).status, 200)
  const things = [
    { id: game.id, path: `/api/games/${game.id}?forever=true&confirm=${game.slug}`, suspensions: games.suspensions },
    { id: asset.id, path: `/api/assets/${asset.id}`, suspensions: assets.suspensions },
  ]
  for (const { id, path, suspensions } of things) {
    const refused = async (why: string) =>
      t.match(await program.delete(path), { status: 409, body: { error: { code: 'under_review' } } }, `${id} ${why}`)
    t.equal((await report(reporter, id)).status, 201)
    await refused('is reported')
    if (id === game.id) t.equal((await program.delete(`/api/games/${id}`)).status, 204, 'it may go into the trash')
    await moderator.post(`/api/admin/reports/${id}`, { action: 'suspend', message: 'It is stolen.' })
    await refused('is suspended')
    if (id === game.id) t.equal((await games.deletion.restore(owner.id, id)).id, id)
    await suspensions.lift(id)
    t.equal((await program.delete(path)).status, 204)
    t.equal((await program.delete(path)).status, 404)
  }
})

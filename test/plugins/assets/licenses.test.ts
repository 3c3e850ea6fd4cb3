// Assets by license: identifiers are corrected, found, counted, and named in credits.
import t, { type Test } from 'tap'
import { attributionOf, choicesOf, correctLicense, LICENSES } from '../../../plugins/assets/license.ts'
import { authorMigration } from '../../../plugins/assets/migrations/2026_11_29_author.ts'
import { type Client, type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { startTeam } from '../../kit/team.ts'
import { png } from '../games/pictures.ts'
import { form } from './kit.ts'

const CORRECTED: Record<string, string> = {
  CC0: 'CC0-1.0',
  'cc 0': 'CC0-1.0',
  'cc0 1.0': 'CC0-1.0',
  'CC-Zero': 'CC0-1.0',
  'cc0-1.0': 'CC0-1.0',
  'CC BY 4.0': 'CC-BY-4.0',
  'cc-by 4': 'CC-BY-4.0',
  'cc by-nc-sa v3.0': 'CC-BY-NC-SA-3.0',
  'CC BY SA 4.0': 'CC-BY-SA-4.0',
  'mit or cc0': 'MIT OR CC0-1.0',
  '(mit and ofl-1.1) or CC-BY-3.0': '(MIT AND OFL-1.1) OR CC-BY-3.0',
  'GPL-2.0-or-later': 'GPL-2.0-or-later',
  'MIT-0': 'MIT-0',
  'LicenseRef-Summit': 'LicenseRef-Summit',
  'CC-BY': 'CC-BY',
  'my own license': 'my own license',
}

t.test('what people write for a license becomes an SPDX expression', (t) => {
  for (const [written, expression] of Object.entries(CORRECTED)) t.equal(correctLicense(written), expression, written)
  for (const { id } of LICENSES) t.equal(correctLicense(id.toLowerCase()), id)
  t.same(choicesOf('MIT'), ['MIT'])
  t.same(choicesOf('MIT AND OFL-1.1 OR CC0-1.0'), ['MIT AND OFL-1.1', 'CC0-1.0'])
  t.same(choicesOf('MIT AND (OFL-1.1 OR CC0-1.0)'), ['MIT AND (OFL-1.1 OR CC0-1.0)'], 'brackets stay together')
  t.end()
})

t.test('an attribution names title, author, license and page', (t) => {
  const sea = { title: 'Sea', author: null, license: 'CC-BY-4.0', owner_name: 'Ada' }
  const page = 'https://x.test/assets/sea'
  t.equal(attributionOf(sea, page), `“Sea” by Ada, CC-BY-4.0, ${page}`)
  t.equal(attributionOf({ ...sea, author: 'Kit' }, page), `“Sea” by Kit, CC-BY-4.0, ${page}`)
  t.equal(attributionOf({ ...sea, owner_name: null }, null), '“Sea”, CC-BY-4.0')
  t.equal(attributionOf({ ...sea, author: 'Kit', license: null }, page), `“Sea” by Kit, ${page}`)
  t.equal(attributionOf({ ...sea, license: null }, page), null)
  t.end()
})

/** Uploads a picture. */
async function upload(client: Client, fields: Record<string, string>) {
  const { payload, headers } = form(png(8, 8), fields, 'picture.png')
  return client.request('POST', '/api/assets', payload, { headers })
}

async function listedByLicense(t: Test, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(owner)
  const add = async (title: string, license: string, more: Record<string, string> = {}) => {
    const { status, body } = await upload(program, { title, license, visibility: 'public', ...more })
    t.equal(status, 201, title)
    return body as { id: string; license: string; author: string | null }
  }
  t.match(await add('Free', 'cc0'), { license: 'CC0-1.0', author: null })
  const choice = await add('Choice', 'MIT or cc by 4.0', { author: ' Kit\u200b  Bo ' })
  t.match(choice, { license: 'MIT OR CC-BY-4.0', author: 'Kit Bo' })
  await add('Both', 'MIT AND CC-BY-4.0')
  await add('Hidden', 'MIT', { visibility: 'private' })
  const found = async (license: string, query = '') => {
    const path = `/api/assets?license=${encodeURIComponent(license)}${query}`
    const { status, body } = await (query ? program : platform.stranger).get(path)
    t.equal(status, 200, license)
    return (body.assets as { title: string }[]).map(({ title }) => title)
  }
  t.same(await found('CC0-1.0'), ['Free'])
  t.same(await found('cc0'), ['Free'], 'as people write it')
  t.same(await found('CC-BY-4.0'), ['Choice'], 'what may be used under it alone')
  t.same(await found('MIT'), ['Choice'])
  t.same(await found('MIT OR CC0-1.0'), ['Choice', 'Free'], 'under one of them')
  t.same(await found('MIT AND CC-BY-4.0'), ['Both'])
  t.same(await found('MIT', '&owner=me'), ['Hidden', 'Choice'])
  t.same(await found('MIT', '&owner=me&q=hid'), ['Hidden'], 'with the other filters')
  t.same(await found('OFL-1.1'), [])
  t.match(await platform.stranger.get('/api/assets?license=%3Cx%3E'), { status: 400, text: /SPDX/ })

  const counts = async () => (await platform.app.assets.library.licenses()).map(({ tag, count }) => [tag, count])
  t.same(await counts(), [
    ['CC-BY-4.0', 1],
    ['CC0-1.0', 1],
    ['MIT', 1],
    ['MIT AND CC-BY-4.0', 1],
  ])
  const path = `/api/assets/${choice.id}`
  t.match(await program.get(`${path}/manifest`), { body: { author: 'Kit Bo', license: 'MIT OR CC-BY-4.0' } })
  t.match(await program.patch(path, { license: 'ofl-1.1', author: null }), {
    status: 200,
    body: { license: 'OFL-1.1', author: null },
  })
  t.match(await program.patch(path, { author: '\u200b' }), { status: 400 })
  t.same([await found('MIT'), await found('OFL-1.1')], [[], ['Choice']], 'the change is found')
  await program.patch(path, { license: null })
  t.same(await found('OFL-1.1'), [])

  // The migration finds what was stored before it.
  await program.patch(path, { license: 'MIT OR CC0-1.0' })
  const { db } = platform.app
  const stored = () => db.query('select license, asset_id from asset_licenses order by license, asset_id')
  const before = await stored()
  t.equal(before.length, 5)
  await db.execute('delete from asset_licenses')
  await db.execute(authorMigration[db.dialect].at(-1) as string)
  t.same(await stored(), before)

  t.equal((await program.delete(path)).status, 204)
  t.same(await found('MIT'), [])
  t.equal((await stored()).length, 3)
}

t.test('assets are found by the licenses that they offer', (t) => listedByLicense(t))
t.test('and on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await listedByLicense(t, { config })
})

t.test('the pages show licenses, authors and credits', async (t) => {
  const { platform, owner, maker, game, program } = await startTeam(t)
  const rock = { title: 'Rock', license: 'CC-BY-4.0', author: '<Kit>', visibility: 'public', gameId: game.slug }
  t.equal((await upload(program, rock)).status, 201)
  await upload(program, { title: 'Moss', license: 'CC0-1.0', visibility: 'public', gameId: game.slug })
  await upload(program, { title: 'Plain', visibility: 'public', gameId: game.slug })
  const credit = `“Rock” by &lt;Kit>, CC-BY-4.0, ${platform.portal}/assets/rock`
  const { body: rockAgain } = await platform.stranger.get('/api/assets/rock')
  t.equal(rockAgain.attribution, `“Rock” by <Kit>, CC-BY-4.0, ${platform.portal}/assets/rock`)
  const { body: listed } = await platform.stranger.get('/api/assets')
  t.same(
    listed.assets.map(({ attribution }: { attribution: string | null }) => attribution),
    [null, `“Moss” by ${owner.account.name}, CC0-1.0, ${platform.portal}/assets/moss`, rockAgain.attribution],
  )
  const page = await platform.stranger.get('/assets/rock')
  t.match(page, { status: 200, text: credit })
  t.match(page.text, /Uploaded by/)
  t.notMatch((await platform.stranger.get('/assets/plain')).text, /In your credits/)
  const library = await platform.stranger.get('/assets')
  t.match(library.text, /href="\/assets\?license=CC-BY-4.0"/)
  const narrowed = await platform.stranger.get('/assets?license=CC-BY-4.0')
  t.match(narrowed.text, /Rock/)
  t.notMatch(narrowed.text, /Moss/)
  t.match(narrowed.text, /href="\/assets\?kind=image&amp;license=CC-BY-4.0"/, 'the filters go together')
  const rare = await platform.stranger.get('/assets?license=MIT')
  t.match(rare.text, /aria-current="true">MIT</, 'a choice that is not among the listed ones is shown')
  const tab = await maker.get(`/games/${game.slug}/assets`)
  t.match(tab, { status: 200, text: credit })
  t.match(tab.text, /“Moss” by /)
  t.notMatch(tab.text, /“Plain”/)
  const said = { title: 'Rock', slug: 'rock', description: '', tags: '', license: 'cc0', author: '' }
  t.equal((await owner.submit('/assets/rock/edit', said)).status, 303)
  t.match((await program.get('/api/assets/rock')).body, { license: 'CC0-1.0', author: null })
  const long = await owner.submit('/assets/rock/edit', { ...said, author: 'x'.repeat(201) })
  t.match(long, { status: 400, text: /at most 200 characters/ })
})

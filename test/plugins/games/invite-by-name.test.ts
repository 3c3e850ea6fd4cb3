import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage } from '../../kit/browser.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { timeLimit } from '../../kit/time-limit.ts'

const MINUTE = 60_000

/** Looks players up, as the owner of a game does. */
async function lookups(t: Test, platform: Platform) {
  const { app } = platform
  const owner = await platform.signUp({ name: 'Adam Owner' })
  const ada = await platform.signUp({ name: 'Ada Lovelace' })
  const eva = await platform.signUp({ name: 'Éva Öz' })
  const disabled = await platform.signUp({ name: 'Ada Gone' })
  await app.db.execute('update players set disabled = ? where id = ?', [true, disabled.id])
  await app.identity.signUp.guest('Ada Guest', { address: '192.0.2.1' } as never).catch(() => {})
  await platform.signUp({ name: '100% Ada_' })
  const game = await platform.game(owner, { title: 'Duo' })
  const find = async (name: string) => {
    const query = new URLSearchParams({ name })
    const { status, body } = await owner.get(`/api/games/${game.id}/invitations/players?${query}`)
    t.equal(status, 200)
    return body.players.map((player: { name: string }) => player.name)
  }
  t.same(await find('a'), ['Ada Lovelace'], 'without the caller, disabled players and guests')
  t.same(await find('ADA  l'), ['Ada Lovelace'], 'case and blanks do not count')
  t.same(await find('lovelace'), [], 'the beginning of the name')
  for (const start of ['é', 'É', 'éva', 'ÉVA ö']) t.same(await find(start), ['Éva Öz'], start)
  for (const start of ['%', '_', 'ada%', '\u200B', "a' or 1=1 --"]) t.same(await find(start), [], start)
  t.same(await find('100% ada_'), ['100% Ada_'])
  const found = await owner.get(`/api/games/${game.id}/invitations/players?name=ada`)
  t.same(Object.keys(found.body.players[0]).sort(), ['id', 'imageUrl', 'name', 'role'], 'no address')
  for (let count = 0; count < 12; count++) await platform.signUp({ name: `Bo ${count}` })
  t.equal((await find('bo')).length, 10)

  t.equal((await ada.get(`/api/games/${game.id}/invitations/players?name=a`)).status, 404)
  t.equal((await owner.get(`/api/games/${game.id}/invitations/players`)).status, 400)
  t.equal((await owner.get(`/api/games/${game.id}/invitations/players?name=`)).status, 400)
  const invited = await owner.post(`/api/games/${game.id}/invitations`, { role: 'tester', playerId: eva.id })
  t.match(invited, { status: 201, body: { player: { id: eva.id }, usesLeft: 1 } })
  t.equal((await eva.submit(new URL(invited.body.url).pathname, {})).status, 303)
  t.match((await owner.get(`/api/games/${game.id}/invitations/players?name=Éva`)).body.players, [{ role: 'tester' }])
}

t.test('the owner of a game finds players by the beginning of their name', async (t) => {
  await lookups(t, await startPlatform(t, { only: ['oauth-idp', 'tokens', 'quotas', 'games'] }))
})

t.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  const platform = await startPlatform(t, { config, only: ['oauth-idp', 'tokens', 'quotas', 'games'] })
  await lookups(t, platform)
  const index = await platform.app.db.query("select indexdef from pg_indexes where indexname = 'players_name_index'")
  t.match(index, [{ indexdef: /lower\(\(?name\)?.*COLLATE "C"/ }])
})

t.test('a look-up reads an index, and is limited', async (t) => {
  const config = { limits: { rateLimits: true } }
  const platform = await startPlatform(t, { config, only: ['oauth-idp', 'tokens', 'quotas', 'games'] })
  const { app, clock } = platform
  const owner = await platform.signUp()
  const game = await platform.game(owner, { title: 'Duo' })
  const { query } = app.db
  const captured = t.capture(app.db, 'query', query)
  await app.identity.players.startingWith('é', 10)
  await app.identity.players.named('Ada', 10)
  const calls = captured().map(({ args }) => args as unknown as Parameters<typeof query>)
  captured.restore()
  t.equal(calls.length, 3, 'both cases of a letter that SQLite does not know')
  for (const [sql, values] of calls) {
    const steps = await app.db.query<{ detail: string }>(`explain query plan ${sql}`, values)
    t.match(steps.map(({ detail }) => detail).join(), /^SEARCH players USING INDEX players_name_index/)
  }
  const look = () => owner.get(`/api/games/${game.id}/invitations/players?name=a`)
  for (let count = 0; count < 60; count++) await look()
  t.equal((await look()).status, 429)
  t.equal((await owner.submit('/games/duo/team/invitations', { role: 'maker', name: 'Ada' })).status, 429)
  clock.advance(MINUTE + 1)
  t.equal((await look()).status, 200)
})

t.test('an invited player joins or declines on their page of messages', async (t) => {
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens', 'quotas', 'games', 'assets', 'moderation'],
  })
  const owner = await platform.signUp({ name: 'Olu' })
  const [mae, ben, other] = [
    await platform.signUp({ name: 'Mae' }),
    await platform.signUp({ name: 'Ben' }),
    await platform.signUp({ name: 'Ben' }),
  ]
  const game = await platform.game(owner, { title: 'Duo', visibility: 'private' })
  const invite = (fields: Record<string, string>) =>
    owner.submit('/games/duo/team/invitations', { role: 'maker', ...fields })
  t.match(await invite({ name: ' mae ' }), { status: 303, headers: { location: /^\/games\/duo\/team#inv_/ } })
  for (const [name, sentence] of Object.entries({
    Mae: /Mae has an open invitation to this already\./,
    Olu: /Olu is in this game already, as its owner\./,
    Nobody: /Nobody here is called Nobody\. Check the name, or send a link\./,
    Ben: /Several players are called Ben: choose one of the list that opens as you type, or send a link\./,
    ' ': /Type the name of a player, or create a link\./,
  })) {
    t.match((await invite({ name })).text.replaceAll('&#39;', "'"), sentence, name)
  }
  t.equal((await invite({ name: 'Ben', player: ben.id })).status, 303, 'a choice names the player')
  const team = (await owner.get('/games/duo/team')).text
  t.match(team, /Take back the invitation of Mae/)
  t.equal((await owner.get(`/api/games/${game.id}/invitations`)).body.invitations.length, 2)

  const messages = (await mae.get('/settings/messages')).text
  t.match(messages, /<bdi>Olu<\/bdi> invites you to make this game together/)
  const path = (text: string) => /action="(\/invitations\/[\w/-]+)\/decline"/.exec(text)?.[1] ?? ''
  t.match(await mae.submit(path(messages), {}), { status: 303, headers: { location: '/games/duo/overview?joined' } })
  t.notMatch((await mae.get('/settings/messages')).text, /invites you/)

  const link = path((await ben.get('/settings/messages')).text)
  t.equal((await other.submit(`${link}/decline`, {})).status, 403, 'nobody declines for another')
  t.notMatch((await other.get('/settings/messages')).text, /invites you/)
  t.match((await ben.get(link)).text, />Decline</)
  t.match(await ben.submit(`${link}/decline`, {}), { status: 303, headers: { location: '/games' } })
  t.notMatch((await ben.get('/settings/messages')).text, /invites you/)
  t.match(await ben.submit(link, {}), { status: 410, text: /This invitation was declined\. Ask for a new one\./ })
  t.same((await owner.get(`/api/games/${game.id}/invitations`)).body.invitations, [])
  t.match((await owner.get('/games/duo/activity')).text, /Declined an invitation/)
  const { body } = await owner.post(`/api/games/${game.id}/invitations`, { role: 'tester' })
  t.equal((await other.submit(`${new URL(body.url).pathname}/decline`, {})).status, 404, 'a link is not declined')
})

t.test('the chooser of players is a combobox for keyboard, mouse and screen reader', async (t) => {
  t.setTimeout(timeLimit(60))
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Olu' })
  const [, second] = [await platform.signUp({ name: 'Mae One' }), await platform.signUp({ name: 'Mae Two' })]
  await platform.game(owner, { title: 'Duo' })
  const open = async (player: PlayerClient, options = {}): Promise<{ page: Page; complaints: string[] }> => {
    const watched = await openPage(browser, { baseURL: platform.portal, ...options })
    const cookies = [...player.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal }))
    await watched.context.addCookies(cookies)
    await watched.page.goto('/games/duo/team')
    return watched
  }
  const { page, complaints } = await open(owner, { viewport: { width: 390, height: 800 } })
  const field = page.getByRole('combobox', { name: 'Name of a player' })
  const options = page.getByRole('option')
  await field.pressSequentially('ma')
  await options.nth(1).waitFor()
  t.equal(await field.getAttribute('aria-expanded'), 'true')
  t.same(await options.allTextContents(), ['Mae One', 'Mae Two'])
  await page.getByRole('status').getByText('2 players found.').waitFor({ state: 'attached' })
  await expectNoAxeViolations(t, page, 'the open list')
  await expectNoOverflow(t, page)
  await field.press('ArrowDown')
  await field.press('ArrowDown')
  t.equal(await field.getAttribute('aria-activedescendant'), await options.nth(1).getAttribute('id'))
  await field.press('Escape')
  t.equal(await field.getAttribute('aria-expanded'), 'false')
  t.equal(await field.getAttribute('aria-activedescendant'), null)
  await field.press('ArrowUp')
  await options.nth(1).waitFor()
  await field.press('ArrowUp')
  await field.press('Enter')
  t.equal(await field.inputValue(), 'Mae Two', 'the last one, and nothing is sent yet')
  await field.press('Enter')
  await page.getByText('Has not answered yet.').waitFor()
  t.match((await second.get('/settings/messages')).text, /invites you/)

  await page.getByRole('combobox').pressSequentially('mae o')
  await options.first().click()
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.getByRole('button', { name: 'Take back the invitation of Mae One' }).waitFor()
  t.same(complaints, [])

  const plain = await open(owner, { javaScriptEnabled: false })
  await plain.page.getByLabel('Name of a player').fill('Mae Nobody')
  await plain.page.getByRole('button', { name: 'Invite', exact: true }).click()
  await plain.page.getByText('Nobody here is called Mae Nobody').first().waitFor()
  t.equal(await plain.page.getByLabel('Name of a player').inputValue(), 'Mae Nobody', 'what was typed stays')
  await plain.page.getByRole('button', { name: 'Create a link for makers' }).click()
  await plain.page.getByText('For 20 players').waitFor()
})

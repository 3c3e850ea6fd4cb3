// What a game states about itself: where it is set, what is refused, and whom the catalog shows it.
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, screenshot } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { timeLimit } from '../../kit/time-limit.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']
const UNKNOWN = { inputs: [], players: [], languages: [], orientation: null, accessibility: [] }

t.test('features are set and changed one by one, and what is no feature is refused by name', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  t.same(game.features, UNKNOWN, 'by default nothing is known')
  const path = `/api/games/${game.id}`

  const stated = { inputs: ['touch', 'touch', 'keyboard'], languages: ['EN-us', 'iw', 'en-US'], orientation: 'any' }
  t.match(await program.patch(path, { features: stated }), {
    status: 200,
    body: { features: { ...UNKNOWN, inputs: ['touch', 'keyboard'], languages: ['en-US', 'he'], orientation: 'any' } },
  })
  const { body } = await program.patch(path, { features: { orientation: null, accessibility: ['subtitles'] } })
  t.same(body.features, {
    inputs: ['touch', 'keyboard'],
    players: [],
    languages: ['en-US', 'he'],
    orientation: null,
    accessibility: ['subtitles'],
  })

  const refused: [features: object, message: RegExp][] = [
    [{ inputs: ['voice'] }, /features\.inputs\.0 must be one of touch, keyboard, mouse, gamepad\b/],
    [{ players: ['some'] }, /features\.players\.0 must be one of single, local, online\b/],
    [{ orientation: 'sideways' }, /features\.orientation must be one of any, portrait, landscape\b/],
    [{ accessibility: ['easy'] }, /features\.accessibility\.0 must be one of subtitles, /],
    [{ languages: ['english'] }, /^“english” is not a language tag\. Write it as en, de or pt-BR \(BCP 47\)\.$/],
    [{ languages: ['de-1901-1901'] }, /^“de-1901-1901” is not a language tag/],
    [{ languages: ['en-x-private'] }, /^“en-x-private” is not a language tag/],
    [{ languages: ['sl-Latn-SI-rozaj-biske-1994'] }, /is not a language tag/],
    [{ languages: ['x'.repeat(101)] }, /features\.languages\.0 must have at most 100 characters/],
    [{ input: ['touch'] }, /features\.input is not a known field/],
    [{ inputs: 'touch' }, /features\.inputs must be a list/],
  ]
  for (const [features, message] of refused)
    for (const answer of [
      await program.patch(path, { features }),
      await program.post('/api/games', { title: 'Refused', description: '', features }),
    ])
      t.match(answer, { status: 400, body: { error: { code: 'invalid_request', message } } }, JSON.stringify(features))
  t.same((await program.get(path)).body.features, body.features, 'and nothing has changed')
  t.same((await program.get('/api/games')).body.games.length, 1)
})

const GAMES: Record<string, object> = {
  Tilt: { inputs: ['touch'], players: ['single'], languages: ['pt-BR'], orientation: 'portrait' },
  Duo: { inputs: ['keyboard', 'gamepad'], players: ['local'], languages: ['en', 'de'], orientation: 'landscape' },
  Crowd: {
    inputs: ['touch', 'keyboard'],
    players: ['local', 'online'],
    languages: ['de-AT', 'pt'],
    orientation: 'any',
  },
  Echo: { inputs: ['keyboard'], players: ['single'], accessibility: ['screen-reader', 'one-button'] },
  Nothing: {},
}

/** A query of the catalog, and the games that it finds, the newest first. */
const FOUND: [query: string, titles: string[]][] = [
  ['', ['Nothing', 'Echo', 'Crowd', 'Duo', 'Tilt']],
  ['input=touch', ['Crowd', 'Tilt']],
  ['input=touch&input=keyboard', ['Crowd']],
  ['players=local', ['Crowd', 'Duo']],
  ['players=local&players=single', []],
  ['language=de', ['Crowd', 'Duo']],
  ['language=de-AT', ['Crowd']],
  ['language=PT', ['Crowd', 'Tilt']],
  ['language=pt-BR', ['Tilt']],
  ['language=ja', []],
  ['orientation=portrait', ['Crowd', 'Tilt']],
  ['orientation=landscape', ['Crowd', 'Duo']],
  ['orientation=any', ['Crowd']],
  ['accessibility=screen-reader&accessibility=one-button', ['Echo']],
  ['accessibility=screen-reader&accessibility=subtitles', []],
  ['q=cro&input=touch', ['Crowd']],
  ['tag=two&input=keyboard', ['Crowd', 'Duo']],
  ['tag=two&q=duo&players=local&language=en&orientation=landscape', ['Duo']],
  ['tag=two&accessibility=one-button', []],
]

/** Makes the games of the table, and returns those that a query finds. */
async function openCatalog(platform: Awaited<ReturnType<typeof startPlatform>>) {
  const player = await platform.signUp()
  const program = await platform.program(player)
  const ids: Record<string, string> = {}
  for (const [title, features] of Object.entries(GAMES)) {
    const tags = ['Duo', 'Crowd'].includes(title) ? ['two'] : []
    ids[title] = (await program.post('/api/games', { title, description: '', tags, features })).body.id
    platform.clock.advance(1)
  }
  const find = async (query: string): Promise<string[]> => {
    const { body } = await platform.stranger.get(`/api/catalog/games?${query}`)
    return body.games.map(({ title }: { title: string }) => title)
  }
  return { program, ids, find }
}

t.test('the catalog finds games by what they state', async (t) => {
  const platform = await startPlatform(t, { only })
  const { program, ids, find } = await openCatalog(platform)
  for (const [query, titles] of FOUND) {
    t.same(await find(query), titles, query)
    t.same((await find(`${query}&sort=popular`)).toSorted(), titles.toSorted(), `${query}, most played`)
  }
  for (const query of ['input=voice', 'players=', 'orientation=x', 'accessibility=easy', 'language=english'])
    t.match(await platform.stranger.get(`/api/catalog/games?${query}`), {
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })

  for (const sort of ['new', 'popular']) {
    const seen: string[] = []
    const query = `/api/catalog/games?input=keyboard&limit=1&sort=${sort}`
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await platform.stranger.get(`${query}${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.games.map(({ title }: { title: string }) => title))
      cursor = body.nextCursor
    }
    t.same(seen, ['Echo', 'Crowd', 'Duo'], `${sort}, page by page`)
  }

  const change = (title: string, changes: object) => program.patch(`/api/games/${ids[title]}`, changes)
  await change('Crowd', { features: { inputs: ['gamepad'] } })
  t.same(await find('input=touch'), ['Tilt'], 'what is no longer stated')
  t.same(await find('input=gamepad'), ['Crowd', 'Duo'])
  await change('Duo', { title: 'Dual' })
  t.same(await find('input=gamepad&q=dual'), ['Dual'], 'a new title keeps the features')
  await change('Duo', { visibility: 'private' })
  t.same(await find('input=gamepad'), ['Crowd'], 'a private game is found by nothing')
})

t.test('filters hold on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const database = { driver: 'postgres', url }
  const platform = await startPlatform(t, {
    only,
    config: { database, secret: 'a secret of the cluster, long enough' },
  })
  const { find } = await openCatalog(platform)
  for (const [query, titles] of FOUND) t.same(await find(query), titles, query)
  await platform.app.db.execute('update games set live_deploy_id = ?', ['dep_00000000000000000000000000'])
  t.match(await platform.app.games.catalog.languages(), [
    { tag: 'de', count: 2 },
    { tag: 'pt', count: 2 },
    { tag: 'de-AT', count: 1 },
  ])
})

t.test(
  'the settings and the pages of a game have its features, and the catalog is filtered by them',
  {
    timeout: timeLimit(120),
  },
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    const player = await platform.signUp()
    const make = async (title: string, fields: object = {}) => {
      const game = await platform.game(player, { title, ...fields })
      await platform.app.db.execute('update games set live_deploy_id = ? where id = ?', [
        'dep_00000000000000000000000000',
        game.id,
      ])
      platform.clock.advance(1)
      return game
    }
    const game = await make('Tilt', { tags: ['puzzle', 'duel', 'night'] })
    await make('Other', { features: { inputs: ['keyboard'], languages: ['ja'] } })
    const { page, complaints } = await signedIn(browser, platform.portal, player, {
      viewport: { width: 1280, height: 900 },
    })

    await page.goto(`${platform.portal}/games/${game.slug}/settings`)
    const section = page.locator('#features')
    await section.getByLabel('Touch').focus()
    await page.keyboard.press('Space')
    await section.getByLabel('Together online').press('Space')
    await section.getByLabel('Languages').fill('german')
    await section.getByLabel('How a phone is held').selectOption('any')
    await section.getByLabel('Subtitles').press('Space')
    await section.getByRole('button', { name: 'Save features' }).click()
    await page.waitForURL(`**/settings/features`)
    t.match(await page.title(), /^Error:/)
    const languages = section.getByLabel('Languages')
    t.equal(await languages.inputValue(), 'german', 'a refused form comes back filled')
    t.equal(await page.evaluate('document.activeElement.id'), 'field-languages')
    t.match(await section.textContent(), '“german” is not a language tag. Write it as en, de or pt-BR (BCP 47).')
    for (const label of ['Touch', 'Together online', 'Subtitles'])
      t.ok(await section.getByLabel(label).isChecked(), label)
    await languages.fill('de, EN')
    await section.getByRole('button', { name: 'Save features' }).click()
    await page.waitForURL('**/settings?saved#features')
    t.equal(await languages.inputValue(), 'de en')
    await section.scrollIntoViewIfNeeded()
    await screenshot(page, 'settings-features')
    t.same((await platform.app.games.get(game.id)).features, {
      inputs: ['touch'],
      players: ['online'],
      languages: ['de', 'en'],
      orientation: 'any',
      accessibility: ['subtitles'],
    })

    await page.goto(`${platform.portal}/games/${game.slug}`)
    const facts = page.locator('.facts')
    await facts.scrollIntoViewIfNeeded()
    await screenshot(page, 'play-features')
    t.same(await facts.locator('dd').allTextContents(), [
      'Touch',
      'Together online',
      'German, English',
      'Portrait and landscape',
      'Subtitles',
    ])
    // The game above it still loads, so that a click may miss it on a busy machine.
    await facts.getByRole('link', { name: 'German' }).press('Enter')
    await page.waitForURL('**/catalog?language=de')
    const titles = () => page.locator('.game-title').allTextContents()
    t.same(await titles(), ['Tilt'])
    t.same(await page.locator('.game-meta').allTextContents(), ['puzzle · duel · touch'])

    t.comment('the filter works by keyboard, and keeps the search')
    await page.goto(`${platform.portal}/catalog?sort=popular`)
    t.same(await titles(), ['Other', 'Tilt'])
    await page.getByText('Filter', { exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    t.ok(await page.getByLabel('Touch').isChecked())
    t.same(await page.getByLabel('Language').locator('option').allTextContents(), [
      'Any',
      'English',
      'German',
      'Japanese',
    ])
    await page.getByLabel('Language').selectOption('de')
    await screenshot(page, 'catalog-filter')
    await expectNoAxeViolations(t, page, 'the filter')
    await page.getByRole('button', { name: 'Show games' }).press('Enter')
    await page.waitForURL('**/catalog?sort=popular&input=touch&language=de&orientation=')
    t.same(await titles(), ['Tilt'])
    await page.getByRole('searchbox').fill('oth')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('q') === 'oth')
    t.match(await page.locator('.empty').textContent(), 'A filter shows only games whose makers state the feature.')
    await page.getByRole('link', { name: 'Remove: Touch' }).click()
    await page.getByRole('link', { name: 'Remove: German' }).click()
    t.same(await titles(), ['Other'])
    t.equal(new URL(page.url()).search, '?q=oth&sort=popular')

    await inFull(t)?.test('on a phone nothing sticks out', async (t) => {
      await page.setViewportSize({ width: 390, height: 844 })
      await page.emulateMedia({ colorScheme: 'dark' })
      for (const [name, path] of [
        ['catalog', '/catalog?input=touch&accessibility=subtitles&language=de'],
        ['settings', `/games/${game.slug}/settings#features`],
        ['game', `/games/${game.slug}`],
      ] as const) {
        await page.goto(platform.portal + path)
        if (name === 'catalog') await page.getByText('Filter', { exact: true }).click()
        await screenshot(page, `features-${name}-390`)
        await expectNoOverflow(t, page, name)
        await expectNoAxeViolations(t, page, name)
      }
    })
    t.same(
      complaints.filter((text) => !/400|404/.test(text)),
      [],
    )
  },
)

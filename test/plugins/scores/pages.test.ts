import t from 'tap'
import { openBrowser, screenshot } from '../../kit/browser.ts'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'

t.test('the owner makes a board by its form, and whoever plays finds it on the page of the game', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp({ name: 'Owner' })
  const game = await platform.game(owner)
  const page = `/games/${game.slug}/scores`
  t.match((await owner.get(page)).text, /No boards yet/)
  t.notMatch((await platform.stranger.get(`/games/${game.slug}`)).text, /Fastest lap/)

  const fields = { title: 'Fastest lap', id: '', order: 'asc', keep: 'best', reset: 'weekly', decimals: '1' }
  const rest = { format: 'seconds', min: '5', max: '', writers: 'players' }
  const refused = await owner.submit(page, { ...fields, ...rest, min: 'five' })
  t.match(refused, { status: 400, text: /Enter a number, such as 1000/ })
  t.match(refused.text, /value="Fastest lap"/, 'what was typed stays')
  const made = await owner.submit(page, { ...fields, ...rest })
  t.match(made, { status: 303, headers: { location: `${page}/fastest-lap?done=saved` } })
  const board = await platform.app.scores.boards.get(game.id, 'fastest-lap')
  t.match(board.fields, { order: 'asc', reset: 'weekly', decimals: 1, min: 5, max: null, format: 'seconds' })

  const players = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Bo <b>' })]
  for (const [index, { id: playerId }] of players.entries()) {
    const score = { gameId: game.id, boardId: 'fastest-lap', playerId, score: 61.5 + index, detail: '<i>' }
    await platform.app.scores.submit({ ...score, writer: 'players' })
  }
  const [ada] = players
  const seen = await ada?.get(`/games/${game.slug}`)
  t.match(seen?.text, /Fastest lap[\s\S]*This week[\s\S]*Ada[\s\S]*you[\s\S]*1:01\.5[\s\S]*Bo &lt;b>[\s\S]*1:02\.5/)
  const open = `/games/${game.slug}/boards/fastest-lap`
  t.match(await platform.stranger.get(open), {
    status: 200,
    text: /2 players, the lowest score is best\.\s+It resets on/,
  })
  t.match(await platform.stranger.get(`${open}?period=previous`), { status: 200, text: /no scores in this period/ })
  t.equal((await platform.stranger.get(`/games/${game.slug}/boards/none`)).status, 404)

  const manage = `${page}/fastest-lap`
  t.match(await owner.get(manage), { status: 200, text: /Bo &lt;b>[\s\S]*Fixed while the board has scores/ })
  t.match(await owner.submit(`${manage}/change`, { do: 'remove', player: players[1]?.id ?? '', exclude: 'on' }), {
    status: 303,
    headers: { location: `${manage}?done=exclude` },
  })
  t.match((await owner.get(`${manage}?done=exclude`)).text, /Kept off[\s\S]*Bo &lt;b>/)
  t.equal((await owner.submit(`${manage}/change`, { do: 'include', player: players[1]?.id ?? '' })).status, 303)
  t.equal((await owner.submit(manage, { title: 'Laps', ...rest })).status, 303)
  t.match((await owner.submit(manage, { title: 'Laps', order: 'desc' })).text, /This board has scores/)
  t.equal((await ada?.submit(`${manage}/change`, { do: 'remove-board' }))?.status, 404)
  t.equal((await owner.submit(`${manage}/change`, { do: 'remove-board' })).status, 303)
  t.match((await owner.get(page)).text, /No boards yet/)
})

t.test('a rank is text for everybody, also of equal scores, and a long name leaves room beside it', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Owner' })
  const game = await platform.game(owner)
  await owner.submit(`/games/${game.slug}/scores`, { title: 'Points', id: '' })
  const names = ['Ada', 'Bo', 'Cy', 'Di', 'Ed', 'Flo', 'Gus', 'Hal', 'A player whose long name is cut off here']
  let last: PlayerClient = owner
  for (const [index, name] of names.entries()) {
    last = await platform.signUp({ name })
    const score = 100 - Math.max(4, index)
    await platform.app.scores.submit({
      gameId: game.id,
      boardId: 'points',
      playerId: last.id,
      score,
      writer: 'players',
    })
    platform.clock.advance(1000)
  }
  const browser = await openBrowser(t)
  if (!browser) return
  const { page } = await signedIn(browser, platform.portal, last, { viewport: { width: 390, height: 844 } })
  for (const path of ['', '/boards/points']) {
    await page.goto(`/games/${game.slug}${path}`)
    const tree = await page.locator('.board').first().ariaSnapshot()
    const ranks = [...tree.matchAll(/: Rank (\d)/g)].map(([, rank]) => Number(rank))
    t.same(ranks, [1, 1, 1, 1, 1, 6, 7, 8, 9], tree)
    const name = page.locator('.me .board-name')
    const sizes = await name.evaluate((element) => {
      const [bdi, you] = [...element.children] as [HTMLElement, HTMLElement]
      return {
        isCut: bdi.scrollWidth > bdi.clientWidth,
        isInside: you.getBoundingClientRect().right <= element.getBoundingClientRect().right + 0.5,
      }
    })
    t.same(sizes, { isCut: true, isInside: true }, 'the name is shortened, and the mark is seen')
    await screenshot(page, `board-${path ? 'page' : 'card'}-390`)
  }
})

t.test('the form makes boards, and changes none', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp({ name: 'Owner' })
  const game = await platform.game(owner)
  const page = `/games/${game.slug}/scores`
  for (const [title, id] of [
    ['最速ラップ', 'board'],
    ['最高得点', 'board-2'],
    ['Fastest lap', 'fastest-lap'],
    ['Fastest lap!', 'fastest-lap-2'],
  ] as const) {
    const made = await owner.submit(page, { title, id: '' })
    t.match(made, { status: 303, headers: { location: `${page}/${id}?done=saved` } })
  }
  const again = await owner.submit(page, { title: 'Other', id: 'board', order: 'asc' })
  t.match(again, { status: 409, text: /There is a board board already/ })
  t.match((await platform.app.scores.boards.get(game.id, 'board')).fields, { title: '最速ラップ', order: 'desc' })
  t.equal((await owner.submit(`${page}/board`, { title: 'Laps' })).status, 303, 'its own form does')
})

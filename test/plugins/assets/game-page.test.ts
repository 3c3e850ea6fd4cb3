import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, screenshot } from '../../kit/browser.ts'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { join } from '../../kit/team.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { png } from '../games/pictures.ts'

const WIDE = { viewport: { width: 1280, height: 900 } }
const NARROW = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } as const

t.test(
  'a maker uploads an asset from the tab Assets, and another one changes it',
  { timeout: timeLimit(120) },
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    const owner = await platform.signUp({ name: 'Olu' })
    const maker = await platform.signUp({ name: 'Mae' })
    const game = await platform.game(owner, { title: 'Duo', visibility: 'private' })
    await platform.game(owner, { title: 'Solo' })
    await join(owner, game, 'maker', [maker])
    const open = (player: PlayerClient, options: typeof WIDE | typeof NARROW) =>
      signedIn(browser, platform.portal, player, options)
    const [ofOwner, ofMaker] = [await open(owner, WIDE), await open(maker, NARROW)]

    const { page } = ofOwner
    await page.goto(`${platform.portal}/games/duo/overview`)
    await page.getByRole('link', { name: 'Assets', exact: true }).last().press('Enter')
    await page.getByRole('heading', { name: 'No assets yet' }).waitFor()
    await expectNoAxeViolations(t, page)
    await screenshot(page, 'game-assets-empty')
    await page.getByRole('link', { name: 'Upload the first' }).press('Enter')
    const file = { name: 'rock.png', mimeType: 'image/png', buffer: png(640, 480) }
    await page.getByLabel('File').setInputFiles(file)
    t.equal(await page.getByLabel('Game').inputValue(), game.id, 'the game is chosen already')
    await expectNoAxeViolations(t, page)
    await screenshot(page, 'game-assets-upload')
    await page.getByRole('button', { name: 'Upload' }).press('Enter')
    await page.getByRole('heading', { name: 'rock', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'Duo', exact: true }).waitFor()
    await screenshot(page, 'game-assets-asset')

    await ofMaker.page.goto(`${platform.portal}/games/duo/assets`)
    await ofMaker.page.getByText('by Olu').waitFor()
    await expectNoAxeViolations(t, ofMaker.page)
    await expectNoOverflow(t, ofMaker.page)
    await screenshot(ofMaker.page, 'game-assets')
    await ofMaker.page.getByRole('link', { name: /rock/ }).press('Enter')
    await ofMaker.page.getByRole('link', { name: 'Edit' }).press('Enter')
    await ofMaker.page.getByLabel('Title').fill('Boulder')
    t.equal(await ofMaker.page.getByLabel('Game').count(), 0, 'it stays in its game')
    t.equal(await ofMaker.page.getByText('Delete this asset').count(), 0)
    await expectNoAxeViolations(t, ofMaker.page)
    await screenshot(ofMaker.page, 'game-assets-edit-by-maker')
    await ofMaker.page.getByRole('button', { name: 'Save' }).press('Enter')
    await ofMaker.page.getByRole('heading', { name: 'Boulder' }).waitFor()
    await expectNoOverflow(t, ofMaker.page)
    await screenshot(ofMaker.page, 'game-assets-asset-by-maker')

    await page.goto(`${platform.portal}/games/duo/assets`)
    await page.getByRole('link', { name: /Boulder/ }).waitFor()
    await screenshot(page, 'game-assets-wide')
    await page.getByRole('link', { name: /Boulder/ }).press('Enter')
    await page.getByRole('link', { name: 'Edit' }).press('Enter')
    await page.getByLabel('Game').selectOption('None')
    await expectNoAxeViolations(t, page)
    await screenshot(page, 'game-assets-edit')
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('heading', { name: 'Boulder' }).waitFor()
    t.equal((await maker.get('/assets/boulder')).status, 404, 'out of the game it is theirs no longer')
    t.equal((await maker.get('/assets/rock')).status, 404)
    t.same([...ofOwner.complaints, ...ofMaker.complaints], [])
  },
)

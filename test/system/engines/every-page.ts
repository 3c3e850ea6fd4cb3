import type { Test } from 'tap'
import { openArrivals, openFirstStart } from '../../kit/arrival-showcase.ts'
import { overflowingElements } from '../../kit/browser.ts'
import { type Engine, openEngine } from '../../kit/engines/engine.ts'
import { cookiesOf, openTarget } from '../../kit/engines/pages.ts'
import { jamPagesOf, openJamShowcase } from '../../kit/jam-showcase.ts'
import type { Client, Platform } from '../../kit/platform.ts'
import { DESIGN_PAGES, openShowcase, pagesOf } from '../../kit/showcase.ts'
import { nameOf, type Target } from '../../kit/targets.ts'

/**
 * Expected errors: pages that are refused, missing or gone; messages of the viewer on a busy machine; and Firefox's
 * check whether a frame over plain http keeps a cookie.
 */
const EXPECTED = /^status of 4\d\d|rAF timed out|“gameyard_game_\d+” has been rejected/

interface Scene {
  name: string
  platform: Platform
  viewers: Record<string, Client | null>
  pages: Record<string, Target[]>
}

async function openScenes(t: Test): Promise<Scene[]> {
  const showcase = await openShowcase(t)
  const { platform, host, newcomer } = showcase
  const pages = pagesOf(showcase)
  const viewers = { guest: null, newcomer, host, error: host }
  const scenes: Scene[] = [
    { name: 'full', platform, viewers, pages: { ...pages, host: [...pages.host, ...DESIGN_PAGES] } },
    { name: 'first start', ...(await openFirstStart(t)) },
    { name: 'empty', ...(await openArrivals(t)) },
  ]
  for (const stage of ['begun', 'voting', 'results'] as const) {
    const { platform, ...people } = await openJamShowcase(t, stage)
    scenes.push({ name: `jam ${stage}`, platform, viewers: { stranger: null, ...people }, pages: jamPagesOf(stage) })
  }
  return scenes
}

/** Each page is loaded once, wide, and then made narrow. */
async function checkScene(t: Test, engine: Engine, { name, platform, viewers, pages }: Scene): Promise<void> {
  for (const [viewer, targets] of Object.entries(pages)) {
    const cookies = cookiesOf(platform, viewers[viewer] ?? null)
    const context = await engine.newContext({ base: platform.portal, cookies })
    const page = await context.newPage()
    for (const target of targets) {
      const what = `${name}, ${viewer}: ${nameOf(target)}`
      const earlier = page.complaints.length
      await openTarget(page, target)
      t.same(await page.evaluate(overflowingElements), [], `${what}: nothing sticks out at 1280`)
      await page.resize(390, 844)
      t.same(await page.evaluate(overflowingElements), [], `${what}: nothing sticks out at 390`)
      await page.resize(1280, 900)
      const complaints = page.complaints.slice(earlier).filter((text) => !EXPECTED.test(text))
      t.same(complaints, [], `${what}: nothing is wrong`)
    }
    await context.close()
  }
}

/**
 * Checks every page of the portal in one engine: no overflow on a phone or on a desktop, and no script error.
 * ../portal.test.ts does the same in Chromium.
 */
export function testEveryPage(t: Test, name: 'firefox' | 'webkit'): void {
  t.test(`every page is sound in ${name}`, async (t) => {
    const engine = await openEngine(t, name, { graphics: true })
    if (!engine) return
    for (const scene of await openScenes(t)) await checkScene(t, engine, scene)
  })
}

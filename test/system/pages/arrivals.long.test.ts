// Every page that people come in by, and those of an empty platform, at three widths.
import t from 'tap'
import { openArrivals, openFirstStart } from '../../kit/arrival-showcase.ts'
import { openBrowser } from '../../kit/browser.ts'
import { checkPages, VIEWS } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.setTimeout(timeLimit(1800))

t.test('every page that people come in by is sound, and so are those of an empty platform', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  for (const { platform, viewers, pages } of [await openFirstStart(t), await openArrivals(t)])
    for (const [viewer, targets] of Object.entries(pages))
      for (const view of Object.values(VIEWS))
        await checkPages(t, browser, { ...view, platform, player: viewers[viewer] ?? null, viewer, targets })
})

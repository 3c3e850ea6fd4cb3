// Every page of a game jam on a laptop: before, while and after people vote, at three widths.
import t from 'tap'
import { openBrowser } from '../../kit/browser.ts'
import { jamPagesOf, openJamShowcase } from '../../kit/jam-showcase.ts'
import { checkPages, VIEWS } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.setTimeout(timeLimit(1800))

for (const stage of ['begun', 'voting', 'results'] as const)
  t.test(`every page of a jam is sound: ${stage}`, async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const { platform, ...people } = await openJamShowcase(t, stage)
    const viewers = { stranger: null, ...people }
    for (const [viewer, targets] of Object.entries(jamPagesOf(stage)) as [keyof typeof viewers, string[]][])
      for (const view of Object.values(VIEWS))
        await checkPages(t, browser, {
          ...view,
          platform,
          player: viewers[viewer],
          viewer: `${stage}: ${viewer}`,
          targets,
        })
  })

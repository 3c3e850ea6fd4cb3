// The names of buttons and pages, by which people choose who do not see where something stands.
import t from 'tap'
import type { Client } from '../kit/platform.ts'
import { openShowcase, pagesOf } from '../kit/showcase.ts'
import type { Target } from '../kit/targets.ts'

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(` ${name}="([^"]*)"`).exec(` ${tag}`)?.[1]

/** Returns the names of what a page lets people press, each with what it does. */
function pressed(html: string): { name: string; does: string }[] {
  const main = /<main[\s\S]*<\/main>/.exec(html)?.[0] ?? ''
  let summaries = 0
  const forms = main.split(/(?=<form )/)
  return forms.flatMap((part) => {
    const action = attribute(/^<form ([^>]*)>/.exec(part)?.[1] ?? '', 'action') ?? ''
    const hidden = [...part.matchAll(/<input [^>]*type="hidden"[^>]*>/g)].map(([tag]) => tag).join('')
    return [...part.matchAll(/<(button|summary)\b([^>]*)>([\s\S]*?)<\/\1>/g)].flatMap(
      ([, tag, attributes = '', text = '']) => {
        if (/ hidden/.test(attributes)) return []
        const name =
          attribute(attributes, 'aria-label') ??
          text
            .replace(/<[^>]*>/g, ' ')
            .replace(/\s+/g, ' ')
            .trim()
        // Each summary opens another part.
        const does =
          tag === 'summary'
            ? `opens ${++summaries}`
            : `${action} ${hidden} ${attribute(attributes, 'name')} ${attribute(attributes, 'value')}`
        return [{ name: `${tag} ${name}`, does }]
      },
    )
  })
}

t.test('what does different things has different names', async (t) => {
  const showcase = await openShowcase(t)
  const { platform, host, newcomer } = showcase
  const pages = pagesOf(showcase)
  const viewers: [Client, Target[]][] = [
    [host, pages.host],
    [newcomer, pages.newcomer],
    [platform.stranger, pages.guest],
  ]
  const titles = new Map<string, string>()
  for (const [client, targets] of viewers)
    for (const page of targets) {
      // The showcase has many tokens with one label, which is the player's own choice.
      if (typeof page !== 'string' || page === '/settings/tokens' || page.startsWith('/oauth/logout')) continue
      const { text, status } = await client.get(page)
      if (status !== 200) continue
      const known = new Map<string, string>()
      for (const { name, does } of pressed(text)) {
        const other = known.get(name)
        if (other !== undefined && other !== does) t.fail(`${page}: two buttons are named “${name}”`)
        known.set(name, does)
      }
      const [path = ''] = page.split('?')
      const title = /<title>([^<]*)/.exec(text)?.[1] ?? ''
      const same = titles.get(title)
      if (same !== undefined && same !== path) t.fail(`${page} and ${same} are both titled ${title}`)
      titles.set(title, path)
    }
  t.ok(titles.size > 50)
})

// The names of buttons and pages, by which people choose who do not see where something stands.
import t from 'tap'
import type { Client } from '../kit/platform.ts'
import { openShowcase, pagesOf } from '../kit/showcase.ts'
import type { Target } from '../kit/targets.ts'

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(` ${name}="([^"]*)"`).exec(` ${tag}`)?.[1]

const wordsOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** Returns the names of what a page lets people press, each with what it does. Scripts show buttons that are hidden. */
function pressed(html: string): { name: string; does: string }[] {
  let summaries = 0
  const forms = html.split(/(?=<form )/)
  return forms.flatMap((part) => {
    const action = attribute(/^<form ([^>]*)>/.exec(part)?.[1] ?? '', 'action') ?? ''
    const hidden = [...part.matchAll(/<input [^>]*type="hidden"[^>]*>/g)].map(([tag]) => tag).join('')
    return [...part.matchAll(/<(button|summary)\b([^>]*)>([\s\S]*?)<\/\1>/g)].map(
      ({ 1: tag, 2: attributes = '', 3: text = '', index }) => {
        const name = attribute(attributes, 'aria-label') ?? wordsOf(text)
        if (/ data-copy\b/.test(attributes)) {
          const before = part.slice(0, index)
          return { name: `${tag} ${name}`, does: `copies ${before.slice(before.lastIndexOf('<code'))}` }
        }
        const data = [...attributes.matchAll(/ data-[\w-]+="[^"]*"/g)].join('')
        // Each summary opens another part.
        const does =
          tag === 'summary'
            ? `opens ${++summaries}`
            : `${action} ${hidden} ${attribute(attributes, 'name')} ${attribute(attributes, 'value')}${data}`
        return { name: `${tag} ${name}`, does }
      },
    )
  })
}

/** Returns the names of the fields of a page, each with what it sets; those of a group begin with its name. */
function fields(html: string): { name: string; does: string }[] {
  const labels = new Map<string, string>()
  for (const [, id = '', text = ''] of html.matchAll(/<label [^>]*for="([^"]*)"[^>]*>([\s\S]*?)<\/label>/g)) {
    labels.set(id, wordsOf(text))
  }
  return html.split(/(?=<form )/).flatMap((part) => {
    const action = attribute(/^<form ([^>]*)>/.exec(part)?.[1] ?? '', 'action') ?? ''
    return [...part.matchAll(/<(input|select|textarea)\b([^>]*)>/g)].flatMap(({ 2: attributes = '', index: at }) => {
      if (/ type="(?:hidden|submit)"| hidden/.test(attributes)) return []
      const opened = part.slice(0, at).lastIndexOf('<fieldset')
      const legend =
        opened > part.slice(0, at).lastIndexOf('</fieldset')
          ? /<legend[^>]*>([\s\S]*?)<\/legend>/.exec(part.slice(opened))?.[1]
          : ''
      const wrapped = /<label\b[^>]*>(?:(?!<\/label>)[\s\S])*$/.exec(part.slice(0, at))?.[0]
      const around = wrapped === undefined ? '' : wordsOf(wrapped + (part.slice(at).split('</label>')[0] ?? ''))
      const own = attribute(attributes, 'aria-label') ?? labels.get(attribute(attributes, 'id') ?? '') ?? around
      const name = own === '' ? '' : `${wordsOf(legend ?? '')} ${own}`
      return [{ name, does: `${action} ${attribute(attributes, 'name')} ${attribute(attributes, 'value')}` }]
    })
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
      const main = /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? ''
      for (const { name, does } of [...pressed(main), ...fields(main)]) {
        if (name.trim() === '') t.fail(`${page}: a field without a name, ${does}`)
        const other = known.get(name)
        if (other !== undefined && other !== does) t.fail(`${page}: two are named “${name}”: ${other} and ${does}`)
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

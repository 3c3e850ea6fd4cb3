// Asks the running platform for each address that commands, the SDK, mails, messages and pages name.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startPlatform } from '../kit/platform.ts'

const ROOT = join(import.meta.dirname, '../..')
const FILES = ['bin/**/*.ts', 'clients/{cli,sdk,adapter}/**/*.ts', '{core,plugins,drivers}/**/*.ts']
/** Shows components with invented addresses, or has no addresses of its own. */
const LEFT_OUT = ['core/pages/design/examples.ts', 'clients/sdk/openapi.ts']

/** Answers only where the program is a binary, or serves a LAN. */
const OF_OTHER_SERVERS = ['/download/', '/join/certificate/']

/** A value that a template adds, and the address of the platform, each as one character. */
const VALUE = '\u0002'
const PLATFORM = '\u0001'
const HOLE = /\$\{(?:[^{}]|\{[^{}]*\})*\}/g
const COMMENT = /^\s*(\/\/|\*|\/\*).*$/gm
const AREAS = 'admin|settings|docs|credits|moderation|jam|join|catalog|players|games|oauth|download'
const FORMS = [
  // After the address of the platform, as in mails and messages of the command line.
  new RegExp(`${PLATFORM}(/[^\\s'"\`<>|)\\\\]*)`, 'g'),
  // In pages.
  /(?:href|action)=(?:"|'|`)?(\/[^\s'"`<>]*)/g,
  /href: ?["'`](\/[^\s'"`]*)/g,
  // Alone in a sentence.
  new RegExp(`(?:^|[\\s(\`'"])(/(?:${AREAS})(?:/[\\w.${VALUE}-]*)*(?:#[\\w-]+)?)(?=[\\s'"\`,;:)]|$)`, 'gm'),
]

/** Returns each address with the file that names it. */
function addresses(): Map<string, string> {
  const found = new Map<string, string>()
  for (const file of globSync(FILES, { cwd: ROOT }).filter((name) => !LEFT_OUT.includes(name))) {
    const text = readFileSync(join(ROOT, file), 'utf8')
      .replace(HOLE, (hole) => (/(?:baseUrl|portal|portalUrl)\}$/i.test(hole) ? PLATFORM : VALUE))
      .replace(COMMENT, '')
    for (const form of FORMS)
      for (const [, address = ''] of text.matchAll(form)) {
        // A value right after a word is a query, and an address that ends with a slash continues elsewhere.
        const whole = address
          .replace(/[.,;:!?)]+$/, '')
          .replace(new RegExp(`(?<=\\w)${VALUE}.*$`), '')
          .replace(/\?.*$/, '')
        if (!whole.endsWith('/') && !new RegExp(`^/${VALUE}`).test(whole)) found.set(whole, file)
      }
  }
  return found
}

t.test('every address that a message or a page names leads somewhere', async (t) => {
  const named = addresses()
  t.ok(named.size > 100, `${named.size} addresses`)
  t.ok(named.has('/settings/tokens') && named.has('/docs/selling-credits#events') && named.has('/credits'))
  const platform = await startPlatform(t, { config: { portal: { designPage: true } } })
  const host = await platform.admin()
  const { entries } = platform.app.routeTable
  // Files of games, at every path.
  const routes = entries.map(({ url }) => url.split('/')).filter((route) => !/^[*:]/.test(route[1] ?? ''))
  /** Whether there is a route of this address, in which a value may be anything. */
  const leads = (path: string) => {
    const segments = path.split('/')
    return routes.some(
      (route) =>
        (route.length === segments.length || (route.includes('*') && route.length < segments.length)) &&
        route.every((part, index) => {
          const segment = segments[index] as string
          return part === segment || part === '*' || part.startsWith(':') || segment.includes(VALUE)
        }),
    )
  }
  t.notOk(leads('/settings/credits'), 'a wrong address is noticed')
  const gets = (path: string) =>
    entries.some(({ method, url, origin }) => method === 'GET' && url === path && origin === 'portal') ||
    path.startsWith('/docs/')
  for (const [address, file] of named) {
    const [path = '', fragment] = address.split('#')
    const title = `${address.replaceAll(VALUE, '…')} in ${file}`
    t.ok(leads(path), title)
    if (path.includes(VALUE) || !gets(path) || OF_OTHER_SERVERS.some((start) => path.startsWith(start))) continue
    const { status, text } = await host.get(path)
    t.not(status, 404, `${title} answers`)
    if (fragment) t.ok(text.includes(`id="${fragment}"`), `${title} has the place`)
  }
})

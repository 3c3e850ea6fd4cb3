// Every form of the portal, refused by the server: it comes back filled, says in plain words what is wrong, and has the
// focus there.
import t, { type Test } from 'tap'
import { Field, Form, html, renderPage } from '../../core/pages/index.ts'
import { definePlugin } from '../../core/plugin.ts'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import { Client, PASSWORD, startPlatform } from '../kit/platform.ts'
import { openShowcase, pagesOf } from '../kit/showcase.ts'
import { linkIn, startSmtp } from '../kit/smtp.ts'
import type { Target } from '../kit/targets.ts'
import { until } from '../kit/until.ts'

interface Refused {
  fields: Record<string, string>
  says: RegExp
}

/** What the server refuses in each form, by the route of its POST; a form that is not here fails the test. */
const REFUSED: Record<string, Refused> = {
  '/games/:slug/deploys': { fields: { message: 'Kept', archive: 'no archive' }, says: /zip|archive/i },
  '/games/:slug/settings/media': { fields: { file: 'no picture' }, says: /PNG/ },
  '/assets/new': { fields: { title: 'Kept', tags: 'two!', file: 'no model' }, says: /Use 1 to 30 letters/ },
  '/settings/picture': { fields: { picture: 'no picture' }, says: /PNG/ },
  '/playground': { fields: { prompt: '', system: 'Kept' }, says: /Fill in this field/ },
  '/settings/ai/:gameId': { fields: { creditsPerDay: 'many' }, says: /number/ },
  '/admin/games/:id/suspend': { fields: { reason: ' ' }, says: /Give the reason/ },
  '/admin/games/:id/delete': { fields: { confirm: 'yes' }, says: /Nothing was deleted/ },
  '/admin/assets/:slug/suspend': { fields: { reason: ' ' }, says: /Give the reason/ },
  '/games/new': { fields: { title: ' ', tags: 'UPPER!' }, says: /Give it a title/ },
  '/games/new/starter': { fields: { title: 'x'.repeat(200) }, says: /Use at most 120/ },
  '/games/:slug/remix': { fields: { title: 'x'.repeat(200) }, says: /Use at most 120 characters/ },
  '/games/:slug/scores': { fields: { title: 'Laps', id: 'Fastest Lap' }, says: /Use 1 to 40 lower-case letters/ },
  '/games/:slug/scores/:board': { fields: { title: 'Laps', min: 'five' }, says: /“five” is none/ },
  '/games/:slug/scores/:board/change': { fields: { exclude: 'maybe' }, says: /Choose one/ },
  '/games/:slug/settings': { fields: { title: 'Kept', tags: 'UPPER!' }, says: /Use at most 10 tags/ },
  '/games/:slug/settings/address': { fields: { slug: 'two words' }, says: /Use 1 to 50 letters/ },
  '/games/:slug/settings/features': { fields: { languages: 'english' }, says: /“english” is not a language tag/ },
  '/games/:slug/settings/serving': { fields: { savesBytes: '16 MB' }, says: /whole number of bytes/ },
  '/games/:slug/settings/delete': { fields: { confirm: 'yes' }, says: /type rooftop-relay to confirm/ },
  '/games/:slug/settings/domains': { fields: { name: 'no domain' }, says: /Give the name alone/ },
  '/games/:slug/team/invitations': { fields: { name: 'Nobody at all' }, says: /Nobody here is called Nobody at all/ },
  '/games/:slug/appeal': { fields: { text: 'x'.repeat(4097) }, says: /Use at most/ },
  '/games/:slug/report': { fields: { category: 'nothing', text: 'Kept' }, says: /Choose what it is about/ },
  '/players/:id/report': { fields: { category: 'nothing', text: 'Kept' }, says: /Choose what it is about/ },
  '/assets/:slug/report': { fields: { category: 'nothing', text: 'Kept' }, says: /Choose what it is about/ },
  '/assets/:slug/edit': { fields: { title: ' ', slug: 'Two Words' }, says: /2 fields have an error/ },
  '/blender/new': { fields: { name: '' }, says: /Give it a name/ },
  '/settings/applications/new': {
    fields: { name: 'Kept', redirectUris: 'http://far.example/cb' },
    says: /far\.example\/cb: This redirect URI needs https/,
  },
  '/settings/applications/:id': { fields: { name: ' ', redirectUris: 'https://a.example/cb' }, says: /Give it a name/ },
  '/settings/tokens': { fields: { access: 'custom' }, says: /Name the token/ },
  '/settings/name': { fields: { name: ' ' }, says: /name/i },
  '/settings/email': { fields: { email: 'kept', password: 'wrong' }, says: /email|password/i },
  '/settings/password': { fields: { current: 'wrong', password: 'short' }, says: /password/i },
  '/settings/delete': { fields: { password: 'wrong' }, says: /password/i },
  '/admin/invitations': { fields: { note: 'Ada\n'.repeat(101) }, says: /at most 100 links/ },
  '/admin/reports/:id': { fields: { action: 'nothing', message: 'Kept' }, says: /did not expect this form/ },
  '/admin/approvals/:id/refuse': { fields: { reason: '' }, says: /reason|Say why/i },
  '/admin/quotas/:playerId': { fields: { gamesPerPlayer: 'many' }, says: /number/ },
  '/admin/credits': { fields: { player: 'nobody@example.org', amount: '5' }, says: /player/i },
  '/admin/players/:id/role': { fields: { role: 'king' }, says: /Choose one/ },
  '/admin/players/:id/rename': { fields: { name: ' ' }, says: /Enter a name/ },
  '/admin/players/:id/delete': { fields: { confirm: 'yes' }, says: /confirm/ },
  '/jam': { fields: { title: 'x'.repeat(2001) }, says: /Use at most/ },
  '/sign-in': { fields: { email: 'kept@example.org', password: 'wrong' }, says: /password/i },
  '/sign-up': { fields: { name: 'Kept', email: 'kept', password: 'short' }, says: /2 fields have an error/ },
  '/invite/:token': { fields: { name: 'Kept', email: 'kept', password: 'short' }, says: /2 fields have an error/ },
  '/reset-password': { fields: { email: 'kept' }, says: /email/ },
}

/** The same for the pages of links that are sent to people. */
const OF_LINKS: Record<string, Refused> = {
  setup: { fields: { name: 'Kept', email: 'kept', password: 'short' }, says: /2 fields have an error/ },
  confirm: { fields: { password: 'another password' }, says: /not the password that you chose/ },
  'reset-password': { fields: { password: 'short' }, says: /at least 10/ },
}

const PAGE = { config: { auth: 'none', page: true }, constraints: { origin: 'portal' } } as const

/** Forms that cannot be refused as they are sent: any choice of theirs is one. */
const NEVER_REFUSED = ['/admin/players/:id/disable', '/settings/applications/:id/secret']

/** What a schema says, and no person. */
const SCHEMA_WORDS = /must NOT|must match|must be|request body|is not valid:|instancePath|is required|undefined/

interface FormOnPage {
  action: string
  /** Whether it is sent with files. */
  isMultipart: boolean
  html: string
  fields: SentField[]
}

interface SentField {
  tag: string
  name: string
  type: string
  value: string
  checked: boolean
}

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(` ${name}="([^"]*)"`).exec(` ${tag}`)?.[1]

const decoded = (text: string) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

/** Returns the forms of a page that are sent. */
function formsOf(page: string): FormOnPage[] {
  return [...page.matchAll(/<form ([^>]*)>([\s\S]*?)<\/form>/g)].flatMap(([, head = '', html = '']) =>
    attribute(head, 'method') === 'post'
      ? [
          {
            action: decoded(attribute(head, 'action') ?? ''),
            isMultipart: attribute(head, 'enctype') === 'multipart/form-data',
            html,
            fields: fieldsOf(html),
          },
        ]
      : [],
  )
}

const fieldsOf = (html: string): SentField[] =>
  [
    ...html.matchAll(
      /<(input|button|select(?=[^>]*>([\s\S]*?)<\/select)|textarea(?=[^>]*>([\s\S]*?)<\/textarea))([^>]*)>/g,
    ),
  ].flatMap(([, tag = '', options, text = '', attributes = '']) => {
    const content = options ?? text
    const name = attribute(attributes, 'name')
    if (name === undefined || / disabled/.test(attributes)) return []
    const type = tag === 'input' ? (attribute(attributes, 'type') ?? 'text') : tag
    const chosen = /<option value="([^"]*)" selected/.exec(content)?.[1] ?? /<option value="([^"]*)"/.exec(content)?.[1]
    const value = tag === 'textarea' ? content : tag === 'select' ? chosen : attribute(attributes, 'value')
    return [{ tag, name, type, value: decoded(value ?? ''), checked: / checked/.test(attributes) }]
  })

/** Whether a browser shows a field. */
const isSeen = ({ type }: SentField) => type !== 'hidden' && type !== 'button'

/** Returns what a browser sends. */
function sentBy({ fields }: FormOnPage, changes: Record<string, string>): Record<string, string[]> {
  const sent: Record<string, string[]> = {}
  const add = (name: string, value: string) => {
    sent[name] ??= []
    sent[name].push(value)
  }
  for (const { name, type, value, checked } of fields) {
    if (type === 'button' || name in changes || (/checkbox|radio/.test(type) && !checked)) continue
    add(name, value)
  }
  for (const [name, value] of Object.entries(changes)) add(name, value)
  return sent
}

/** Sends a form as a browser does. @param fields what was entered, and the content of files */
function send(
  client: Client,
  form: FormOnPage,
  fields: Record<string, string[]>,
  headers: Record<string, string> = {},
) {
  if (!form.isMultipart) return client.submit(form.action, fields, { headers })
  const files = form.fields.filter(({ type }) => type === 'file').map(({ name }) => name)
  // Files come last, as on the pages.
  const names = Object.keys(fields).toSorted(
    (one, other) => Number(files.includes(one)) - Number(files.includes(other)),
  )
  const parts = names.flatMap((name) =>
    (fields[name] ?? []).map((value) => {
      const file = files.includes(name) ? '; filename="chosen.bin"\r\ncontent-type: application/octet-stream' : ''
      return `--edge\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
    }),
  )
  const type = { 'content-type': 'multipart/form-data; boundary=edge' }
  return client.request('POST', form.action, `${parts.join('')}--edge--\r\n`, { headers: { ...type, ...headers } })
}

t.test('a refused form comes back filled, and says in plain words what is wrong', async (t) => {
  const provider = await startAiServer(t, openai('Hello'))
  const showcase = await openShowcase(t, { ai: aiConfig(provider) })
  const { platform, host, newcomer } = showcase
  const pages = pagesOf(showcase)
  const { id } = (await host.get('/api/games/sonar')).body
  const suspended = await platform.game(await platform.signUp())
  await platform.app.games.suspensions.suspend(suspended.id, 'Stolen.')
  pages.host.push(`/admin/games/${id}/suspend`, '/admin/assets/wavy-sea/suspend', `/settings/ai/${id}`)
  const [application] = (await host.get('/api/oauth/apps')).body.apps
  pages.host.push(`/admin/games/${suspended.id}/delete`, `/settings/applications/${application.id}`)
  const viewers: [Client, Target[]][] = [
    [host, pages.host],
    [newcomer, pages.newcomer],
    [platform.stranger, pages.guest],
  ]
  const routes = platform.app.routeTable.entries.filter(({ method, page }) => method === 'POST' && page)
  const missing = new Set(Object.keys(REFUSED))
  const tried = new Set<string>()
  for (const [client, targets] of viewers) {
    for (const page of targets) {
      if (typeof page !== 'string') continue
      for (const form of formsOf((await client.get(page)).text)) {
        const [path = ''] = form.action.split('?')
        const route = routes.find(({ url }) => new RegExp(`^${url.replace(/:\w+/g, '[^/]+')}$`).test(path))?.url ?? ''
        const kind = `${route} ${form.fields.map(({ name }) => name).join()}`
        if (NEVER_REFUSED.includes(route) || tried.has(kind) || !form.fields.some(isSeen)) continue
        tried.add(kind)
        missing.delete(route)
        await t.test(`${route} on ${page}`, (t) =>
          refuse(t, client, { portal: platform.portal, page, form, refused: REFUSED[route] }),
        )
      }
    }
  }
  t.same([...missing], [], 'each of the list is on a page')
})

async function refuse(
  t: Test,
  client: Client,
  { portal, page, form, refused }: { portal: string; page: string; form: FormOnPage; refused: Refused | undefined },
): Promise<void> {
  if (!refused) return void t.fail('a form that is not in the list')
  const sent = sentBy(form, refused.fields)
  const answer = await send(client, form, sent, { referer: portal + page })
  t.ok(answer.status >= 400 && answer.status < 500, `${answer.status}`)
  t.match(answer.text, /<title>Error: /)
  const [path] = form.action.split('?')
  const alike = formsOf(answer.text).filter(({ action }) => action.split('?')[0] === path)
  // Forms of one address differ in their hidden fields.
  const returned =
    alike.length === 1
      ? alike[0]
      : alike.find(({ fields }) =>
          fields.every(({ name, type, value }) => type !== 'hidden' || sent[name]?.includes(value)),
        )
  if (!returned) return void t.fail('the form is on the page')
  for (const { name, type, value, checked } of returned.fields.filter(isSeen)) {
    // What no field offers cannot come back.
    if (/checkbox|radio/.test(type) && !form.fields.some((field) => field.value === sent[name]?.[0])) continue
    if (type === 'file') continue
    if (type === 'password') t.equal(value, '', 'a password does not come back')
    else if (/checkbox|radio/.test(type)) t.equal(checked, sent[name]?.includes(value) ?? false, `${name} ${value}`)
    else if (type !== 'select') t.equal(value.trim(), (sent[name]?.[0] ?? '').trim(), name)
  }
  const again = await send(client, returned, sent)
  t.match(again, { status: answer.status, text: /<title>Error: / }, 'the second time too')
  const errors = [
    ...answer.text.matchAll(/class="field-error"[^>]*>[\s\S]*?<\/p>|class="form-errors"[\s\S]*?<\/form>/g),
  ]
    .map(([text]) => text.replace(/<[^>]*>/g, ' '))
    .join('\n')
  t.match(errors, refused.says)
  t.notMatch(errors, SCHEMA_WORDS)
  const [focused = ''] = /<[^>]* autofocus[^>]*>/.exec(answer.text) ?? []
  t.match(focused, /aria-invalid="true"|aria-describedby="[^"]*-error|class="form-errors"/, 'the focus is on the fault')
}

t.test('a refused form of a link that was sent comes back too, and the link still works', async (t) => {
  const { inbox, url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'Yard <yard@example.org>' }
  const only = ['oauth-idp', 'tokens']
  const { app, portal, stranger } = await startPlatform(t, { only, config: { mail, auth: { verifyEmail: true } } })
  const linkTo = async (address: string) => linkIn(await until(() => inbox.find(({ to }) => to.includes(address))))
  const account = { name: 'Ada', email: 'ada@example.org', password: PASSWORD }
  await app.identity.players.create(account)
  await stranger.submit('/reset-password', { email: account.email })
  await stranger.post('/api/auth/sign-up', { ...account, email: 'bob@example.org' })
  const links: Record<string, string> = {
    setup: new URL((await app.identity.setupUrl()) ?? '').pathname,
    confirm: await linkTo('bob@example.org'),
    'reset-password': await linkTo('ada@example.org'),
  }
  for (const [name, page] of Object.entries(links)) {
    const client = new Client(app)
    const [form] = formsOf((await client.get(page)).text).filter(({ action }) => action === page)
    if (!form) t.fail(`${name}: there is no form`)
    else await t.test(name, (t) => refuse(t, client, { portal, page, form, refused: OF_LINKS[name] }))
  }
})

t.test('a form that another site sends does not come back filled', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const fields = { title: ' ', description: 'Words of somebody else', tags: '', visibility: 'public' }
  const headers = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
  const answer = await player.submit('/games/new', fields, { headers })
  t.equal(answer.status, 403)
  t.notMatch(answer.text, /Words of somebody else|action="\/games\/new"/)
})

t.test('a failure of the server returns the form too', async (t) => {
  const fails = definePlugin({ name: 'fails' }, async (app) => {
    app.get('/form-of-fails', PAGE, async (_request, reply) =>
      renderPage(reply, {
        title: 'Fails',
        body: html`<${Form} action="/fails" submit="Send"><${Field} label="Text" name="text" /><//>`,
      }),
    )
    app.post('/fails', PAGE, async () => {
      throw new Error('broken')
    })
  })
  const { stranger, portal } = await startPlatform(t, { plugins: [fails] })
  const headers = { referer: `${portal}/form-of-fails` }
  const answer = await stranger.submit('/fails', { text: 'Kept words' }, { headers })
  t.match(answer, { status: 500, text: /value="Kept words"/ })
  t.match(answer.text, /class="form-errors"[\s\S]*The server made a mistake/)
  const [form] = formsOf(answer.text)
  const again = await stranger.submit(form?.action ?? '', { text: 'Other words' })
  t.match(again, { status: 500, text: /value="Other words"/ }, 'the address of the form names its page')
})

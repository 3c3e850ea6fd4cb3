import { renderToString } from 'preact-render-to-string'
import t from 'tap'
import { renderReference, renderReferenceGroup } from '../../../core/openapi/reference.ts'
import { document } from './openapi-example.ts'

const text = (markup: string) =>
  markup
    .replace(/<wbr ?\/?>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
const overview = renderToString(renderReference(document))
/** Renders the page of one group of a document. */
const group = (of: object, name: string) => renderToString(renderReferenceGroup(of, name)?.body as never)
/** The groups in the order of the overview. */
const groups = [...overview.matchAll(/<h2><a href="\/docs\/api\/([^"]+)"/g)].map(([, name]) => name as string)
const page = groups.map((name) => group(document, name)).join('')
const operation = (id: string) =>
  text(page.split(`<article class="operation" id="${id}">`)[1]?.split('</article>')[0] ?? '')

t.test('every operation has a place of its own that the contents lead to', async (t) => {
  const ids = [...page.matchAll(/<article class="operation" id="([^"]+)"/g)].map((match) => match[1])
  t.same(ids, [
    'get-api-catalog-games',
    'put-api-deploy-deployid-files-a-very-long-path-that-goes-on-digest',
    'get-api-games',
    'post-api-games',
    'patch-api-games-gameid',
    'delete-api-games-gameid',
    'post-api-oauth-token',
  ])
  for (const id of ids) {
    t.match(page, `href="#${id}"`)
    t.match(overview, new RegExp(`<li id="${id}"><a href="/docs/api/[a-z-]+#${id}"`), 'old links lead on')
  }
  t.equal(renderReferenceGroup(document, 'nothing'), null)
})

t.test('an operation says who may call it', async (t) => {
  t.match(operation('get-api-games'), 'Callers API token or browser session, with scope games:read')
  t.match(operation('get-api-catalog-games'), 'Callers Anyone; more with API token')
  t.match(operation('post-api-oauth-token'), 'Callers Anyone Body')
  t.match(group({ paths: { '/x': { get: { security: [{}] } } } }, 'x'), '</span> Anyone</p>')
})

t.test('fields carry type, limits and what they are for, also within each other and by reference', async (t) => {
  const make = operation('post-api-games')
  t.match(make, 'title string required 1 to 120 characters')
  t.match(make, 'visibility "public" | "private" default "public"')
  t.match(make, 'tags string[] at most 10 items')
  t.match(make, 'coverUrl string | null')
  t.match(make, 'authWidget "auto" | "off" required')
  t.match(make, 'maxPlayersPerRoom integer 2 to 100')
  t.match(make, '409 The slug is taken.')
})

t.test('an example can be pasted into a terminal', async (t) => {
  t.match(
    operation('post-api-games'),
    `curl -X POST 'http://localhost:8080/api/games' \\ -H "Authorization: Bearer $TOKEN"`,
  )
  t.match(operation('post-api-games'), `-d '{ "title": "Ada'\\''s Relay" }'`)
  t.match(
    operation('post-api-oauth-token'),
    "--data-urlencode 'grant_type=authorization_code' \\ --data-urlencode 'code=<code>'",
  )
  t.match(operation('put-api-deploy-deployid-files-a-very-long-path-that-goes-on-digest'), '--data-binary @FILE')
  t.notMatch(operation('post-api-oauth-token'), 'Authorization: Bearer')
})

t.test('a document without anything in it is a page too', async (t) => {
  t.match(renderToString(renderReference({})), '<h1>API reference</h1>')
})

t.test('a schema that refers to itself does not go on for ever', async (t) => {
  const node = {
    type: 'object',
    properties: { name: { type: 'string' }, child: { $ref: '#/components/schemas/Node' } },
    required: ['child'],
  }
  const content = { 'application/json': { schema: node } }
  const loop = { components: { schemas: { Node: node } }, paths: { '/tree': { post: { requestBody: { content } } } } }
  t.match(text(group(loop, 'tree')), 'child object')

  const json = {
    anyOf: [{ $ref: '#/components/schemas/Json' }, { type: 'array', items: { $ref: '#/components/schemas/Json' } }],
  }
  const body = { content: { 'application/json': { schema: json } } }
  const knot = { components: { schemas: { Json: json } }, paths: { '/json': { post: { requestBody: body } } } }
  t.match(text(group(knot, 'json')), '/json')
})

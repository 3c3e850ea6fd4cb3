// The OpenAPI document of the whole platform, as a generator of clients reads it.
import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'

interface Operation {
  security?: Record<string, string[]>[]
  parameters?: { in: string }[]
  requestBody?: unknown
  responses: Record<string, { description: string; content?: Record<string, { schema?: { $ref?: string } }> }>
}
type PathItem = Record<string, Operation> & {
  servers?: { url: string; variables?: Record<string, { default: string }> }[]
}
interface Document {
  servers: { url: string }[]
  paths: Record<string, PathItem>
  components: { schemas: Record<string, object>; securitySchemes: object }
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) =>
      item[method] ? [{ path, method, operation: item[method], servers: item.servers }] : [],
    ),
  )

t.test('each path names the server at which it is', async (t) => {
  const platform = await startPlatform(t, { config: { studio: { url: 'http://studio.localhost:8080' } } })
  const game = await platform.game(await platform.signUp())
  const document: Document = (await platform.stranger.get('/openapi.json')).body
  const hosts = new Map<string, number>()
  for (const { path, method, servers = document.servers } of operationsOf(document)) {
    const [server] = servers
    const origin = server?.url.replace('{slug}', game.slug) ?? ''
    hosts.set(origin, (hosts.get(origin) ?? 0) + 1)
    const { host } = new URL(origin)
    const { origins, routeTable } = platform.app
    const { kind } = origins.parse(host)
    t.ok(
      routeTable.methodsAt(kind as 'game', path.replace(/\{\w+\}/g, 'x')).includes(method.toUpperCase() as 'GET'),
      `${method} ${path} at ${origin}`,
    )
  }
  t.ok((hosts.get(`http://${platform.gameHost(game.slug)}`) ?? 0) > 10)
  t.ok((hosts.get('http://studio.localhost:8080') ?? 0) > 10)
  t.ok((hosts.get(platform.portal) ?? 0) > 50)
})

t.test('each operation describes its errors, in the one form that they have', async (t) => {
  const platform = await startPlatform(t)
  const document: Document = (await platform.stranger.get('/openapi.json')).body
  for (const { path, method, operation } of operationsOf(document)) {
    const name = `${method} ${path}`
    const { responses, security = [] } = operation
    const needsCaller = security.length > 0 && security.every((rule) => Object.keys(rule).length > 0)
    t.ok(
      Object.keys(responses).some((status) => /^[23]/.test(status)),
      `${name}: a success`,
    )
    if (operation.requestBody || operation.parameters?.length) t.ok(responses[400], `${name}: 400`)
    t.equal(Boolean(responses[401]) || !needsCaller, true, `${name}: 401`)
    if (needsCaller && security.some((rule) => Object.values(rule).some((scopes) => scopes.length > 0)))
      t.ok(responses[403], `${name}: 403`)
    if (operation.parameters?.some((parameter) => parameter.in === 'path')) t.ok(responses[404], `${name}: 404`)
    for (const [status, { content }] of Object.entries(responses)) {
      if (!/^[45]/.test(status)) continue
      const { schema } = Object.values(content ?? {})[0] ?? {}
      t.match(schema?.$ref, /^#\/components\/schemas\/(OAuth)?Error$/, `${name}: ${status}`)
    }
  }
  const validation = await platform.stranger.get('/api/catalog/games?limit=x')
  t.same(Object.keys(validation.body.error).sort(), ['code', 'details', 'message'])
})

t.test('each success says what it sends', async (t) => {
  const platform = await startPlatform(t)
  const document: Document = (await platform.stranger.get('/openapi.json')).body
  for (const { path, method, operation } of operationsOf(document))
    for (const [status, { description, content }] of Object.entries(operation.responses)) {
      const name = `${method} ${path}: ${status}`
      if (status === '200' || status === '201') t.ok(Object.keys(content ?? {}).length > 0, name)
      t.not(description, 'Default Response', name)
    }
  const { paths } = document
  const archive = paths['/api/games/{id}/deploys/{deployId}/archive']?.get?.responses[200]
  t.same(archive?.content, { 'application/zip': { schema: { type: 'string', format: 'binary' } } })
  t.same(Object.keys(paths['/auth/service/start']?.get?.responses ?? {}).slice(0, 1), ['302'])
  const reference = await platform.stranger.get('/docs/api/blender')
  t.match(reference.text, /<code>text\/x-python<\/code>/)
})

t.test('each upload says what it takes, and each route of a game whose session counts', async (t) => {
  const platform = await startPlatform(t)
  const document: Document = (await platform.stranger.get('/openapi.json')).body
  const { paths } = document
  for (const { method, url, upload, schema } of platform.app.routeTable.entries) {
    const operation = paths[url.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    if (upload && operation && !(schema as { hide?: boolean }).hide) t.ok(operation.requestBody, `${method} ${url}`)
  }
  t.match(paths['/api/assets']?.post?.requestBody, {
    content: {
      'multipart/form-data': {
        schema: { required: ['file'], properties: { file: { format: 'binary' }, title: { type: 'string' } } },
      },
    },
  })
  t.match(paths['/api/saves/{key}']?.put?.requestBody, { content: { '*/*': { schema: { format: 'binary' } } } })
  const [assets, saves] = [
    await platform.stranger.get('/docs/api/assets'),
    await platform.stranger.get('/docs/api/saves'),
  ]
  t.match(assets.text, /-F 'file=@FILE'/)
  t.match(saves.text, /-H 'Content-Type: application\/octet-stream' \\\n {2}--data-binary @FILE/)
  t.match(saves.text, /Callers<\/span> game session/)
  const ofPlayer = [{ gameSession: [] }]
  for (const { path, method, operation } of operationsOf(document).filter(({ path }) =>
    path.startsWith('/__service/saves'),
  )) {
    t.same(operation.security, ofPlayer, `${method} ${path}`)
    t.ok(operation.responses[401], `${method} ${path}: 401`)
  }
  t.same(paths['/__service/scores/{board}']?.get?.security, [{}, ...ofPlayer])
  t.same(paths['/api/saves']?.get?.security, [{ oauthToken: [] }])
  t.match(document.components.securitySchemes, { gameSession: { in: 'cookie', name: /^gameyard_game_/ } })
})

t.test('shared schemas are there once, and every reference leads to one', async (t) => {
  const platform = await startPlatform(t)
  const document: Document = (await platform.stranger.get('/openapi.json')).body
  const text = JSON.stringify(document)
  for (const name of ['Error', 'OAuthError', 'Game', 'Asset', 'Deploy', 'Token', 'OAuthApplication', 'BlenderJob'])
    t.ok(document.components.schemas[name], name)
  const names = new Set(
    [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name as string),
  )
  for (const name of names) t.ok(document.components.schemas[name], `${name} is described`)
  for (const name of Object.keys(document.components.schemas)) t.ok(names.has(name), `${name} is used`)
  t.notOk(/"x-/.test(text))
})

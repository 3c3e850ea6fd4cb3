// Requests to the routes of the program, made from their schemas and the things of an owner.
import type { RouteOptions } from 'fastify'
import type { Hints, Operation, Schema } from '../fuzz-requests.ts'
import { type Owner, parametersOf } from './world.ts'

/** A route as an operation of the OpenAPI document; pages are not in there, and are asked too. */
export function operationOf({ url, schema = {}, config }: RouteOptions, method: string): Operation {
  const { params, querystring, body, consumes } = schema as Record<string, Schema> & { consumes?: string[] }
  const type = consumes?.[0] ?? (config?.page ? 'application/x-www-form-urlencoded' : 'application/json')
  const within = (place: string, from: Schema | undefined) =>
    Object.entries(from?.properties ?? {}).map(([name, one]) => ({ in: place, name, schema: one }))
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    in: 'path',
    name,
    schema: params?.properties?.[name] ?? { type: 'string' },
  }))
  return {
    method,
    path: url
      .replace(/\(\^.*?\)$/, '')
      .replace(/:(\w+)/g, '{$1}')
      .replace('*', ''),
    parameters: [...inPath, ...within('query', querystring)],
    ...(body ? { requestBody: { content: { [type]: { schema: body } } } } : {}),
    responses: {},
  }
}

/** What the owner has, under each name that a field or a parameter could have for it. */
export function hintsOf(owner: Owner, path: string): Hints {
  const { game, application, assetId, jobId, browser, deployId } = owner
  // Of what the owner has published, as of what is private.
  const open = owner.published && {
    ...owner,
    game: { id: owner.published.gameId, slug: owner.published.gameId },
    deployId: owner.published.deployId,
    assetId: owner.published.assetId,
  }
  const meant = [owner, ...(open ? [open] : [])].map((one) => parametersOf(one, path))
  const inPath = Object.fromEntries(Object.keys(meant[0] ?? {}).map((name) => [name, meant.map((one) => one[name])]))
  return {
    ...inPath,
    gameId: [game.id, game.slug],
    game: [game.id, game.slug],
    assetId: [assetId],
    asset: [assetId],
    from: [assetId],
    starterAssets: [[assetId]],
    starters: [[assetId]],
    sourceJobId: [jobId],
    jobId: [jobId],
    deploy: [deployId],
    owner: [browser.id],
    ownerId: [browser.id],
    player: [browser.id],
    playerId: [browser.id],
    sub: [browser.id],
    clientId: [application.clientId],
    client_id: [application.clientId],
    email: [browser.account.email],
    q: ['Zanzibar', 'zanzibar'],
    search: ['Zanzibar'],
    cursor: ['zzz'],
    limit: [100],
    id: inPath.id ?? [game.id],
  }
}

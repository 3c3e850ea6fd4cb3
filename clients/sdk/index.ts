/**
 * The platform's HTTP API for browsers, Node 18 and later, Deno, Bun and workers.
 *
 *   const client = createClient({ baseUrl: 'https://games.example', token })
 *   const ship = await client.getAsset('ship')
 *
 * Every method of the client is also a function of its own that takes a connection, so a bundler leaves out those that
 * are not imported: `getAsset(createConnection({ baseUrl }), 'ship')`.
 */
import * as ai from './ai.ts'
import * as assets from './assets.ts'
import * as blender from './blender.ts'
import { type CallOptions, type ClientOptions, type Connection, createConnection } from './connection.ts'
import * as deploys from './deploys.ts'
import * as games from './games.ts'
import type { FromSchema, JsonSchema } from './json-schema.ts'
import * as members from './members.ts'
import * as saves from './saves.ts'
import * as scores from './scores.ts'

export * from './ai.ts'
export * from './assets.ts'
export * from './blender.ts'
export {
  type CallOptions,
  type ClientOptions,
  type Connection,
  createConnection,
  type RequestOptions,
} from './connection.ts'
export * from './deploys.ts'
export {
  ApiError,
  ConnectionError,
  GameyardError,
  InsufficientCreditsError,
  MissingScopeError,
  NotFoundError,
  RateLimitedError,
  UnauthorizedError,
} from './errors.ts'
export * from './games.ts'
export type { FromSchema, JsonSchema } from './json-schema.ts'
export type { List, Page } from './lists.ts'
export * from './members.ts'
export * from './saves.ts'
export * from './scores.ts'
export type { Answer, Body, paths, Query } from './types.ts'

/** A function without its first argument, the connection. */
type Bound<Call> = Call extends (connection: Connection, ...rest: infer Rest) => infer Result
  ? (...rest: Rest) => Result
  : never

export interface Client {
  readonly connection: Connection
  whoami: Bound<typeof games.whoami>

  getAsset: Bound<typeof assets.getAsset>
  listAssets: Bound<typeof assets.listAssets>
  getAssetManifest: Bound<typeof assets.getAssetManifest>
  getAssetFile: Bound<typeof assets.getAssetFile>
  uploadAsset: Bound<typeof assets.uploadAsset>
  deleteAsset: Bound<typeof assets.deleteAsset>
  assetUrl(idOrSlug: string, choice?: assets.FileChoice): string
  animationUrl(idOrSlug: string, clip: string, options?: { from?: string }): string
  animateAsset: Bound<typeof assets.animateAsset>
  removeAssetClip: Bound<typeof assets.removeAssetClip>

  generateText: Bound<typeof ai.generateText>
  streamText: Bound<typeof ai.streamText>
  generateImage: Bound<typeof ai.generateImage>
  generateObject<const Schema extends JsonSchema>(
    request: ai.ObjectRequest<Schema>,
  ): Promise<ai.Generated<FromSchema<Schema>>>
  credits(options?: CallOptions): Promise<ai.Credits>

  readonly games: {
    create: Bound<typeof games.createGame>
    get: Bound<typeof games.getGame>
    list: Bound<typeof games.listGames>
    update: Bound<typeof games.updateGame>
    delete: Bound<typeof games.deleteGame>
    analytics: Bound<typeof games.getGameAnalytics>
    logs: Bound<typeof games.listGameLogs>
    catalog: Bound<typeof games.listCatalog>
  }
  readonly members: {
    list: Bound<typeof members.listMembers>
    change: Bound<typeof members.changeMember>
    remove: Bound<typeof members.removeMember>
    invite: Bound<typeof members.inviteMember>
    invitations: Bound<typeof members.listInvitations>
    revoke: Bound<typeof members.revokeInvitation>
  }
  readonly transfers: {
    get: Bound<typeof members.getTransfer>
    offer: Bound<typeof members.offerTransfer>
    accept: Bound<typeof members.acceptTransfer>
    end: Bound<typeof members.endTransfer>
  }
  readonly boards: {
    list: Bound<typeof scores.listBoards>
    put: Bound<typeof scores.putBoard>
    delete: Bound<typeof scores.deleteBoard>
    scores: Bound<typeof scores.listScores>
    deleteScore: Bound<typeof scores.deleteScore>
    exclude: Bound<typeof scores.excludePlayer>
    include: Bound<typeof scores.includePlayer>
  }
  readonly deploys: {
    publish: Bound<typeof deploys.publish>
    get: Bound<typeof deploys.getDeploy>
    list: Bound<typeof deploys.listDeploys>
    rollback: Bound<typeof deploys.rollback>
  }
  /** The saves of one player: `token` is the player's OAuth access token. */
  readonly saves: {
    list: Bound<typeof saves.listSaves>
    get: Bound<typeof saves.getSave>
    put: Bound<typeof saves.putSave>
    delete: Bound<typeof saves.deleteSave>
    versions: Bound<typeof saves.listSaveVersions>
    restore: Bound<typeof saves.restoreSave>
  }
  readonly blender: {
    health: Bound<typeof blender.getBlenderHealth>
    capabilities: Bound<typeof blender.getBlenderCapabilities>
    templates: Bound<typeof blender.listBlenderTemplates>
    starters: Bound<typeof blender.listBlenderStarters>
    submit: Bound<typeof blender.submitBlenderJob>
    get: Bound<typeof blender.getBlenderJob>
    list: Bound<typeof blender.listBlenderJobs>
    cancel: Bound<typeof blender.cancelBlenderJob>
    act: Bound<typeof blender.actOnBlenderJob>
    artifacts: Bound<typeof blender.listBlenderArtifacts>
    artifact: Bound<typeof blender.getBlenderArtifact>
    inspection: Bound<typeof blender.getBlenderInspection>
    waitFor: Bound<typeof blender.waitForBlenderJob>
  }
}

/** Creates a client with all functions. @throws TypeError when an address is invalid */
export function createClient(options: ClientOptions): Client {
  const connection = createConnection(options)
  const bind = <Rest extends unknown[], Result>(call: (connection: Connection, ...rest: Rest) => Result) =>
    call.bind(null, connection) as (...rest: Rest) => Result
  return {
    connection,
    whoami: bind(games.whoami),
    getAsset: bind(assets.getAsset),
    listAssets: bind(assets.listAssets),
    getAssetManifest: bind(assets.getAssetManifest),
    getAssetFile: bind(assets.getAssetFile),
    uploadAsset: bind(assets.uploadAsset),
    deleteAsset: bind(assets.deleteAsset),
    assetUrl: bind(assets.assetUrl),
    animationUrl: bind(assets.animationUrl),
    animateAsset: bind(assets.animateAsset),
    removeAssetClip: bind(assets.removeAssetClip),
    generateText: bind(ai.generateText),
    streamText: bind(ai.streamText),
    generateImage: bind(ai.generateImage),
    generateObject: (request) => ai.generateObject(connection, request),
    credits: bind(ai.getCredits),
    games: {
      create: bind(games.createGame),
      get: bind(games.getGame),
      list: bind(games.listGames),
      update: bind(games.updateGame),
      delete: bind(games.deleteGame),
      analytics: bind(games.getGameAnalytics),
      logs: bind(games.listGameLogs),
      catalog: bind(games.listCatalog),
    },
    members: {
      list: bind(members.listMembers),
      change: bind(members.changeMember),
      remove: bind(members.removeMember),
      invite: bind(members.inviteMember),
      invitations: bind(members.listInvitations),
      revoke: bind(members.revokeInvitation),
    },
    transfers: {
      get: bind(members.getTransfer),
      offer: bind(members.offerTransfer),
      accept: bind(members.acceptTransfer),
      end: bind(members.endTransfer),
    },
    boards: {
      list: bind(scores.listBoards),
      put: bind(scores.putBoard),
      delete: bind(scores.deleteBoard),
      scores: bind(scores.listScores),
      deleteScore: bind(scores.deleteScore),
      exclude: bind(scores.excludePlayer),
      include: bind(scores.includePlayer),
    },
    deploys: {
      publish: bind(deploys.publish),
      get: bind(deploys.getDeploy),
      list: bind(deploys.listDeploys),
      rollback: bind(deploys.rollback),
    },
    saves: {
      list: bind(saves.listSaves),
      get: bind(saves.getSave),
      put: bind(saves.putSave),
      delete: bind(saves.deleteSave),
      versions: bind(saves.listSaveVersions),
      restore: bind(saves.restoreSave),
    },
    blender: {
      health: bind(blender.getBlenderHealth),
      capabilities: bind(blender.getBlenderCapabilities),
      templates: bind(blender.listBlenderTemplates),
      starters: bind(blender.listBlenderStarters),
      submit: bind(blender.submitBlenderJob),
      get: bind(blender.getBlenderJob),
      list: bind(blender.listBlenderJobs),
      cancel: bind(blender.cancelBlenderJob),
      act: bind(blender.actOnBlenderJob),
      artifacts: bind(blender.listBlenderArtifacts),
      artifact: bind(blender.getBlenderArtifact),
      inspection: bind(blender.getBlenderInspection),
      waitFor: bind(blender.waitForBlenderJob),
    },
  }
}

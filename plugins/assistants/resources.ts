import { buffer } from 'node:stream/consumers'
import { type ReadResourceResult, ResourceNotFoundError } from '@modelcontextprotocol/server'
import type { FastifyInstance } from 'fastify'
import { isPlatformError, MissingScope } from '../../core/errors.ts'
import type { Caller } from './call-tool.ts'

const SCHEME = 'gameyard://'

/** The resources that depend on a thing of the player. */
export const TEMPLATES = [
  {
    name: 'integration-prompt',
    title: 'Integration prompt of a game',
    uriTemplate: `${SCHEME}games/{game}/integration-prompt`,
    description: 'What the game finds at its own address, and how to publish it. `game` is its id or slug.',
    mimeType: 'text/plain',
  },
  {
    name: 'blender-preview',
    title: 'Picture of a Blender job',
    uriTemplate: `${SCHEME}blender/jobs/{job}/preview.png`,
    description: 'The rendered picture of the model.glb that a job has made.',
    mimeType: 'image/png',
  },
]

/** Lists the guides, and the parts of the API. */
export async function listResources({ app }: Caller) {
  const guides = (await app.guides.groups()).flatMap((group) => group.guides)
  return {
    resources: [
      ...guides.map(({ name, title, summary }) => ({
        name,
        title,
        uri: `${SCHEME}guides/${name}`,
        description: summary,
        mimeType: 'text/markdown',
      })),
      ...apiTags(app).map((tag) => ({
        name: `api-${tag}`,
        title: `HTTP API: ${tag}`,
        uri: `${SCHEME}api/${encodeURIComponent(tag)}`,
        description: `The part of the OpenAPI document about ${tag}.`,
        mimeType: 'application/json',
      })),
    ],
  }
}

/** Reads one resource. @throws ResourceNotFoundError, also for another player's thing and without the scope */
export async function readResource(caller: Caller, uri: string): Promise<ReadResourceResult> {
  const [kind, ...rest] = uri.startsWith(SCHEME) ? uri.slice(SCHEME.length).split('/') : []
  try {
    const found = await read(caller, kind, rest.map(decoded))
    if (found) return { contents: [{ uri, ...found }] }
  } catch (error) {
    if (!isPlatformError(error)) throw error
    throw new ResourceNotFoundError(uri, error.message)
  }
  throw new ResourceNotFoundError(uri)
}

async function read({ app, principal }: Caller, kind: string | undefined, path: string[]) {
  const { playerId, scopes } = principal
  const mustHave = (scope: string) => {
    if (scopes !== 'all' && !scopes.has(scope)) throw new MissingScope(scope)
  }
  const [first = '', second, third] = path
  if (kind === 'guides' && path.length === 1) {
    const text = await app.guides.markdown(first)
    return text === null ? null : { mimeType: 'text/markdown', text }
  }
  if (kind === 'api' && path.length === 1 && apiTags(app).includes(first)) {
    return { mimeType: 'application/json', text: JSON.stringify(apiPart(app, first)) }
  }
  if (kind === 'games' && second === 'integration-prompt') {
    mustHave('games:read')
    return { mimeType: 'text/plain', text: app.games.integrationPrompt(await app.games.mustMake(playerId, first)) }
  }
  if (kind === 'blender' && first === 'jobs' && second && third === 'preview.png' && app.hasDecorator('blender')) {
    mustHave('assets:read')
    const { artifact, read: open } = await app.blender.openArtifact(playerId, second, third)
    return { mimeType: artifact.contentType, blob: (await buffer(await open())).toString('base64') }
  }
  return null
}

interface OpenapiDocument {
  paths?: Record<string, Record<string, { tags?: string[] }>>
}

/** The tags of the OpenAPI document, in their order. */
function apiTags(app: FastifyInstance): string[] {
  const { paths = {} } = app.swagger() as OpenapiDocument
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  return [...new Set(operations.flatMap(({ tags = [] }) => tags))].sort()
}

/** The operations of one tag. */
function apiPart(app: FastifyInstance, tag: string): OpenapiDocument {
  const document = app.swagger() as OpenapiDocument
  const paths = Object.entries(document.paths ?? {}).flatMap(([path, operations]) => {
    const own = Object.entries(operations).filter(([, { tags = [] }]) => tags.includes(tag))
    return own.length > 0 ? [[path, Object.fromEntries(own)] as const] : []
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

/** A malformed escape names nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}

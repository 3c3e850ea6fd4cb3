import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../core/errors.ts'
import { filesOf } from './draft-files.ts'
import type { Drafts } from './drafts.ts'
import { type Comparison, TEXT_BYTES } from './schemas.ts'

/** The bytes of all texts in one comparison. The files after them have none. */
const TEXTS_BYTES = 2 * 1024 ** 2
/** The number of files in one comparison. */
const MOST_FILES = 1000

type Files = ReadonlyMap<string, { sha256: string; size: number; contentType: string }>

/** Whether a file of this type is text for people. */
export const isText = (contentType: string): boolean =>
  /^text\/|^application\/(?:javascript|json|manifest\+json|xml|xhtml\+xml)|^image\/svg\+xml/.test(contentType)

/**
 * Compares two builds of a game, file by file, with the contents of small texts.
 *
 * @param range `from`: a deploy, by default the live one; `to`: a deploy, by default the draft
 * @throws NotFound
 */
export async function compare(
  parts: Pick<FastifyInstance, 'deploys'> & { drafts: Drafts },
  playerId: string,
  idOrSlug: string,
  { from, to }: { from?: string; to?: string },
): Promise<Comparison> {
  const { drafts, deploys } = parts
  const game = await drafts.mustEdit(playerId, idOrSlug)
  const deployed = async (deployId: string): Promise<Files> => {
    const deploy = await deploys.get(playerId, deployId)
    const files = deploy.gameId === game.id ? await deploys.manifest(deployId) : null
    if (!files) throw new NotFound('deploy')
    return files
  }
  const drafted = async (): Promise<Files> => {
    const draft = await drafts.store.read(game.id)
    return filesOf(await drafts.store.baseOf(game, draft), draft.files)
  }
  const fromId = from ?? game.liveDeployId
  const before: Files = fromId === null ? new Map() : await deployed(fromId)
  const after = to === undefined ? await drafted() : await deployed(to)
  let room = TEXTS_BYTES
  const sideOf = async (file: { sha256: string; size: number; contentType: string } | undefined) => {
    if (!file) return null
    const { size, contentType } = file
    if (size > TEXT_BYTES || size > room || !isText(contentType)) return { size, text: null }
    room -= size
    const bytes = await buffer(await deploys.openBlob(file))
    return { size, text: bytes.toString() }
  }
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort()
  const different = paths.filter((path) => before.get(path)?.sha256 !== after.get(path)?.sha256).slice(0, MOST_FILES)
  const files: Comparison['files'] = []
  for (const path of different) {
    const [old, now] = [before.get(path), after.get(path)]
    const change = old ? (now ? 'changed' : 'removed') : 'added'
    files.push({ path, change, before: await sideOf(old), after: await sideOf(now) })
  }
  return { from: fromId, to: to ?? 'draft', files }
}

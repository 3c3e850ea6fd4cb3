import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { type ViewerFiles, viewerFiles } from '../assets/index.ts'
import type { Game } from '../games/index.ts'
import { isText } from './diff.ts'
import type { Draft } from './schemas.ts'

/** What the page *Code* gives to its script. */
export interface DraftPage {
  draft: Draft
  playerId: string
  /** The text that is shown first, if it is small. */
  first: { path: string; text: string; revision: number } | null
  /** The path that leads to the preview; null where games have ports instead of names. */
  preview: string | null
  /** The path of the stream of changes. */
  stream: string
  /** The path of the stream of what room scripts log; null on a platform without rooms. */
  roomLog: string | null
  /** The address of the API that lists assets. */
  assets: string
  /** What the page loads when it is needed. */
  scripts: { textEditor: string; viewer: ViewerFiles }
}

/** The largest text that the page itself contains, in bytes. */
const FIRST_BYTES = 48 * 1024

/** Reads what the page *Code* of a game needs. @param path of the page @throws NotFound */
export async function draftPage(app: FastifyInstance, playerId: string, game: Game, path: string): Promise<DraftPage> {
  const draft = await app.drafts.get(playerId, game.id)
  const texts = draft.files.filter(({ size, contentType }) => size <= FIRST_BYTES && isText(contentType))
  const shown = texts.find((file) => file.path === 'index.html') ?? texts[0]
  const file = shown && (await app.drafts.file(playerId, game.id, shown.path))
  return {
    draft,
    playerId,
    first: file ? { path: shown.path, text: await text(await file.open()), revision: file.revision } : null,
    preview: app.origins.byPort ? null : `${path}/preview`,
    stream: `/live${path}`,
    roomLog: app.hasDecorator('rooms') ? `/api/games/${game.id}/logs` : null,
    assets: `${app.origins.studio}/api/assets`,
    scripts: { textEditor: app.browserFiles.url('text-editor.js'), viewer: viewerFiles(app) },
  }
}

import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Api } from '../api.ts'
import { type DeployProgress, deploy } from '../deploy/deploy.ts'
import { exposedFiles, exposedWarning } from '../deploy/exposed-files.ts'
import { type Build, readBuild } from '../deploy/folder.ts'
import { prepareRoomScript, type RoomScript, withRoomScript } from '../deploy/room-script.ts'
import { CliError } from '../errors.ts'
import type { Game } from '../games.ts'
import type { FoundProject } from '../project.ts'

const PAGE = '<!doctype html>\n<title>gameyard dev</title>\n'
const MESSAGE = 'The room script of gameyard dev'

const SILENT: DeployProgress = {
  hashing() {},
  resuming() {},
  uploading() {},
  advance() {},
  arrived() {},
  waiting() {},
  publishing() {},
}

interface Parts {
  api: Api
  game: Game
  project: FoundProject
  folder: string
  stateFolder: string
}

/**
 * The room script of a folder while it is developed: each version is published as a preview that holds nothing else,
 * and whose rooms are apart from those of the players.
 */
export class DevRoomScript {
  readonly #parts: Parts
  #digest = ''
  #deployId: string | null = null
  #publishing: Promise<unknown> = Promise.resolve()
  /** The deploys of this session. */
  readonly deployIds = new Set<string>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The name of the preview whose rooms run the script; null before the first. */
  get preview(): string | null {
    return this.#deployId === null ? null : this.#deployId.slice(-10).toLowerCase()
  }

  /**
   * Publishes the script if it has changed. A script with a mistake leaves the earlier version in place.
   *
   * @returns what to look at in the new version; null when there is none
   * @throws CliError
   */
  publish(): Promise<string[] | null> {
    const next = this.#publishing.then(() => this.#publish())
    this.#publishing = next.catch(() => {})
    return next
  }

  /** Removes the preview. */
  async remove(): Promise<void> {
    await this.#publishing
    await this.#discard(this.#deployId)
  }

  async #publish(): Promise<string[] | null> {
    const { api, game, project, folder, stateFolder } = this.#parts
    const script = await prepareRoomScript(project, folder)
    if (!script) return null
    const { path, file, size } = script
    const temporary = await mkdtemp(join(tmpdir(), 'gameyard-dev-'))
    try {
      const digest = createHash('sha256')
        .update(await readFile(file))
        .digest('hex')
      if (digest === this.#digest) return null
      const page = join(temporary, 'index.html')
      await writeFile(page, PAGE)
      const build = {
        files: [
          { path: 'index.html', file: page, size: PAGE.length },
          { path, file, size },
        ],
        leftOut: [],
      }
      const request = { game, build, message: MESSAGE, preview: true, room: path, stateFolder }
      const { deployId, build: found } = await deploy(api, request, SILENT)
      const former = this.#deployId
      this.#digest = digest
      this.#deployId = deployId
      this.deployIds.add(deployId)
      await this.#discard(former)
      const notes = found?.notes.filter((note) => note.path === path).map(({ message }) => message) ?? []
      const warning = await warningOf(folder, script)
      return warning ? [...notes, warning] : notes
    } finally {
      await Promise.all([script.remove(), rm(temporary, { recursive: true, force: true })])
    }
  }

  /** A preview that stays, because the platform is away, is deleted after 30 days. */
  async #discard(deployId: string | null): Promise<void> {
    if (deployId === null) return
    // The command has been stopped, so its own requests are aborted.
    const { signal: _, ...connection } = this.#parts.api.connection
    await new Api(connection).delete(`/api/deploy/${deployId}`).catch((error) => {
      if (!(error instanceof CliError)) throw error
    })
  }
}

/** Warns of what a deploy of the folder would expose or refuse. A folder that is no build yet exposes nothing. */
async function warningOf(folder: string, script: RoomScript): Promise<string | null> {
  let build: Build
  try {
    build = await readBuild(folder)
  } catch (error) {
    if (error instanceof CliError) return null
    throw error
  }
  try {
    return exposedWarning(await exposedFiles(withRoomScript(build, script), script))
  } catch (error) {
    if (error instanceof CliError) return [error.message, error.hint].filter(Boolean).join(' ')
    throw error
  }
}

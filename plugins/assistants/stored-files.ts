import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import Type from 'typebox'
import { InvalidRequest, MissingScope, NotFound } from '../../core/errors.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import type { ToolCall } from './tool.ts'

/** The scope of jobs and assets, beside that of the tool. */
const SCOPE = 'assets:read'
/** The most bytes that a call reads from the platform, since they are in memory. */
const MOST_BYTES = 64 * 1024 ** 2

const FORM = /^(?<kind>job|ast)_(?<rest>[0-9A-Za-z]{26})(?:\/(?<path>.{1,512}))?$/s

/** An argument in place of bytes: a file that the platform has, since an assistant can't send back what it only saw. */
export const From = Type.String({
  minLength: 1,
  maxLength: 560,
  description:
    'A file that the platform has, in place of its bytes: `job_…/model.glb` of a Blender job, `ast_…` of an asset of yours, or `ast_…/path` of a pack. It takes the scope assets:read, too.',
})

interface StoredFile {
  size: number
  read(): Promise<Readable>
}

/** Reads files that the platform has, in one call of a tool. */
export class StoredFiles {
  readonly #call: ToolCall
  #bytes = 0

  constructor(call: ToolCall) {
    this.#call = call
  }

  /**
   * @param path of the argument, for errors
   * @throws MissingScope, InvalidRequest, NotFound also for a file of somebody else
   */
  async read(from: string, path: string): Promise<Buffer> {
    const { scopes } = this.#call.principal
    if (scopes !== 'all' && !scopes.has(SCOPE)) throw new MissingScope(SCOPE)
    const { size, read } = await this.#find(from, path)
    this.#bytes += size
    if (this.#bytes > MOST_BYTES) {
      throw new InvalidRequest(`A call takes at most ${formatBytes(MOST_BYTES)} of files that the platform has.`)
    }
    return buffer(await read())
  }

  async #find(from: string, path: string): Promise<StoredFile> {
    const { app, playerId } = this.#call
    const { kind, rest, path: name } = FORM.exec(from)?.groups ?? {}
    const id = `${kind}_${rest}`
    if (kind === 'job' && name !== undefined && app.hasDecorator('blender')) {
      const { artifact, read } = await app.blender.openArtifact(playerId, id, name)
      return { size: artifact.size, read }
    }
    if (kind === 'ast' && app.hasDecorator('assets')) {
      const asset = await app.assets.mustMake(playerId, id)
      const file =
        name === undefined ? asset.kind !== 'pack' && asset.files[0] : asset.files.find((each) => each.path === name)
      if (!file)
        throw new NotFound('file in this asset').with({
          details: [{ path, message: 'needs the path of a file in the pack' }],
        })
      return { size: file.size, read: () => app.assets.read(asset.id, file.sha256) }
    }
    const message = 'is neither job_…/NAME of a Blender job nor ast_… of an asset'
    throw new InvalidRequest(`${path} ${message}.`).with({ details: [{ path, message }] })
  }
}

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getAsset, getAssetKeys, isSea } from 'node:sea'
import { NOT_GUIDES } from './guide-order.ts'

/** The source of the guides. */
export interface GuideSource {
  /** The file names of the guides, without `.md`. */
  names(): Promise<string[]>
  text(name: string): Promise<string>
}

/**
 * The folder at the top of the tree. The single binary has no such folder, but assets under this name
 * (build/binary.ts).
 */
const folder = isSea() ? '' : join(import.meta.dirname, '../../docs')
const prefix = 'docs/'

/** The guides that are part of the program. */
export const guideSource: GuideSource = {
  async names() {
    const files = isSea()
      ? getAssetKeys()
          .filter((key) => key.startsWith(prefix))
          .map((key) => key.slice(prefix.length))
      : await readdir(folder)
    return files
      .filter((file) => file.endsWith('.md'))
      .map((file) => file.slice(0, -3))
      .filter((name) => !NOT_GUIDES.includes(name))
  },
  text: async (name) =>
    isSea() ? getAsset(`${prefix}${name}.md`, 'utf8') : readFile(join(folder, `${name}.md`), 'utf8'),
}

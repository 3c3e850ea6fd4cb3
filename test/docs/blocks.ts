import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NOT_GUIDES } from '../../plugins/docs/guide-order.ts'

const folder = join(import.meta.dirname, '../../docs')

/**
 * A fenced block of a guide. The words after the fence say how it is tested, and each block has exactly one of `run`,
 * `by-hand` and `shown`, so that no block is forgotten.
 */
export interface Block {
  language: string
  code: string
  /** The line of the fence, counted from 1. */
  line: number
  /**
   * `run`: the test executes the block by its language and the words below. `by-hand`: the block needs a person or
   * changes the machine; the text must make the reason clear. `shown`: the block contains nothing to run.
   */
  mark: 'run' | 'by-hand' | 'shown'
  /** `file=main.js`: written into the reader's folder. */
  file: string | null
  /** `node`: Node then runs that file. */
  node: boolean
  /** `page`: runs as a module in a page of the game, with a signed-in player. */
  page: boolean
  /** `answer`: the shape of the previous block's output. */
  answer: boolean
  /** `background=URL`: runs until the end of the guide; it is ready when the address answers. */
  background: string | null
  /** `needs=blender`: the block is reported as skipped where that is not installed. */
  needs: string | null
  /** `with=guestbook.ts`: a file that the configuration refers to. */
  with: string | null
}

const MARK = /^(run|by-hand|shown)$/
const FURTHER = /^(node|page|answer|(file|background|needs|with)=\S+)$/

export const guideNames = (): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -3))
    .filter((name) => !NOT_GUIDES.includes(name))

export const guideText = (name: string): string => readFileSync(join(folder, `${name}.md`), 'utf8')

/** Returns the blocks of a guide in order. @throws on a fence without a mark, or with an unknown word */
export function blocksOf(markdown: string): Block[] {
  const lineAt = (index: number) => markdown.slice(0, index).split('\n').length
  const found = [...markdown.matchAll(/^( *)```(.*)\n([\s\S]*?)^\1```$/gm)]
  const fences = [...markdown.matchAll(/^ *```/gm)]
  if (fences.length !== 2 * found.length) throw new Error('a fence has no other end')
  return found.map(({ index, 1: indent = '', 2: info = '', 3: code = '' }) => {
    const [language = '', ...words] = info.trim().split(/\s+/)
    const line = lineAt(index)
    const [mark, ...others] = words.filter((word) => MARK.test(word))
    if (!mark || others.length > 0)
      throw new Error(`line ${line}: a fence has one of run, by-hand and shown after its language`)
    const odd = words.find((word) => !MARK.test(word) && !FURTHER.test(word))
    if (odd) throw new Error(`line ${line}: nobody knows what \`${odd}\` means after a fence`)
    const value = (name: string) => words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? null
    const has = (word: string) => words.includes(word)
    return {
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line,
      mark: mark as Block['mark'],
      file: value('file'),
      node: has('node'),
      page: has('page'),
      answer: has('answer'),
      background: value('background'),
      needs: value('needs'),
      with: value('with'),
    }
  })
}

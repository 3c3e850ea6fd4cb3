import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../docs')

/** A fenced block of a guide. The words after the fence say how it is run; what has none of them is run by its language. */
export interface Block {
  language: string
  code: string
  /** Line of the fence, from 1. */
  line: number
  /** `file=main.js`: written into the reader's folder. */
  file: string | null
  /** `run`: that file is then run by Node. */
  run: boolean
  /** `page`: run as a module in a page of the game, by somebody who is signed in. */
  page: boolean
  /** `answer`: what the block before printed, in shape. */
  answer: boolean
  /** `by-hand`: asks a person or changes the machine; not run, and the reason must be plain from the text. */
  byHand: boolean
  /** `background=URL`: runs on until the end of the guide; it is up when the address answers. */
  background: string | null
  /** `needs=blender`: where that is not installed, the block is skipped in the open. */
  needs: string | null
  /** `with=guestbook.ts`: a file that the configuration names. */
  with: string | null
}

const KNOWN = /^(run|page|answer|by-hand|(file|background|needs|with)=\S+)$/

export const guideNames = (): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -3))

export const guideText = (name: string): string => readFileSync(join(folder, `${name}.md`), 'utf8')

/** The blocks of a guide in their order. @throws on a word after a fence that nobody knows */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(.+)\n([\s\S]*?)^```$/gm)].map(({ index, 1: info = '', 2: code = '' }) => {
    const [language = '', ...words] = info.trim().split(/\s+/)
    const line = markdown.slice(0, index).split('\n').length
    const odd = words.find((word) => !KNOWN.test(word))
    if (odd) throw new Error(`line ${line}: nobody knows what \`${odd}\` means after a fence`)
    const value = (name: string) => words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? null
    const has = (word: string) => words.includes(word)
    return {
      ...{ language, code, line, file: value('file'), run: has('run'), page: has('page'), answer: has('answer') },
      ...{ byHand: has('by-hand'), background: value('background'), needs: value('needs'), with: value('with') },
    }
  })
}

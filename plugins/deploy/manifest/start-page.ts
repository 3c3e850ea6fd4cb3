import { printablePath } from '../../../core/data/file-path.ts'

/** The page that the address of a game opens. */
export const START_PAGE = 'index.html'

/** The file of a project that a build tool makes into a build. */
const PROJECT = 'package.json'

/** The most pages that a sentence names. */
const NAMED = 3

/**
 * Returns the only page at the top of a build without an `index.html`, which is published as the start page: `Story.html`
 * of an export into one file, or `Index.html`. Null when the build has a start page, no page, or several.
 */
export function onlyPage(paths: readonly string[]): string | null {
  if (paths.includes(START_PAGE)) return null
  const pages = topPages(paths)
  return pages.length === 1 ? (pages[0] as string) : null
}

/** Describes what a build without a start page has instead, and what to do: sentences without the last full stop. */
export function insteadOfStartPage(paths: readonly string[]): string {
  const nested = paths.filter((path) => path.endsWith(`/${START_PAGE}`)).sort(byDepth)[0]
  if (nested !== undefined) {
    const folder = nested.slice(0, -START_PAGE.length - 1)
    const alone = `publish the folder ${printablePath(folder)} alone`
    const isSource = /(?:^|\/)(?:public|src)$/.test(folder) && paths.includes(folder.replace(/[^/]+$/, PROJECT))
    return isSource
      ? `There is a ${printablePath(nested)} of a project with a ${PROJECT}: build it, such as by npm run build, and publish the folder that this makes. If it needs no build, ${alone}`
      : `There is a ${printablePath(nested)}: ${alone}`
  }
  const pages = topPages(paths)
  const misspelt = pages.find((path) => /^index\.html?$/i.test(path))
  if (misspelt !== undefined) return `There is a ${misspelt}: rename it to ${START_PAGE}, in lower case`
  if (pages.length > 0) {
    const named = pages.slice(0, NAMED).map(printablePath).join(', ')
    return `There are ${named}${pages.length > NAMED ? ' and others' : ''}: rename the page that opens first to ${START_PAGE}`
  }
  const page = paths.filter((path) => /\.html?$/i.test(path)).sort(byDepth)[0]
  if (page !== undefined) {
    return `The first page is ${printablePath(page)}: publish its folder alone, with that page renamed to ${START_PAGE}`
  }
  const archive = paths.find((path) => /\.(?:zip|rar|7z|tar|tgz|gz)$/i.test(path))
  if (archive !== undefined && paths.length <= NAMED) {
    return `There is an archive inside, ${printablePath(archive)}: publish that one, as a zip archive`
  }
  return 'There is no HTML file at all: publish the folder that your engine or build tool exports for the web'
}

const topPages = (paths: readonly string[]): string[] => paths.filter((path) => /^[^/]+\.html?$/i.test(path))

const byDepth = (a: string, b: string): number => a.split('/').length - b.split('/').length || a.length - b.length

import { createReadStream } from 'node:fs'
import { readFile, realpath, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join, sep } from 'node:path'
import mime from 'mime'

export interface FilesOptions {
  root: string
  /** The HTML inserted before the end of every page. */
  inject: string
  /** The headers of every response. */
  headers: Record<string, string>
  /** Whether a request is for a part of a page, so that the start page is no answer to it. */
  isPartOfPage(path: string): boolean
}

/** Matches files that are never served, because a deploy would not publish them. */
const PRIVATE = /(?:^|\/)(?:\.git|\.env[^/]*|node_modules)(?:\/|$)/i

/** Serves a folder as a game's own origin does: the file, a folder's `index.html`, else the game's own page. */
export async function serveFile(
  { root, inject, headers, isPartOfPage }: FilesOptions,
  { method, path }: { method: string; path: string },
  response: ServerResponse,
): Promise<void> {
  const found = await locate(root, path)
  if (found && 'redirect' in found) {
    // The folder may be a file at the next change.
    response.writeHead(302, { ...headers, location: found.redirect, 'cache-control': 'no-store' }).end()
    return
  }
  if (!found || (found.isFallback && isPartOfPage(path))) {
    response.writeHead(404, {
      'cache-control': 'no-store',
      vary: 'sec-fetch-dest',
      ...headers,
      'content-type': 'text/plain; charset=utf-8',
    })
    response.end(method === 'HEAD' ? undefined : `There is no ${path} here.\n`)
    return
  }
  const coding = /\.(br|gz)$/.exec(found.file)?.[1]
  const type = mime.getType(coding ? found.file.slice(0, -coding.length - 1) : found.file) ?? 'application/octet-stream'
  const text = /^text\/|javascript|json|xml/.test(type)
  const own = {
    ...headers,
    'content-type': text ? `${type}; charset=utf-8` : type,
    ...(coding ? { 'content-encoding': coding === 'br' ? 'br' : 'gzip' } : {}),
    'cache-control': 'no-store',
  }
  if (type === 'text/html' && !coding) {
    const page = withInjection(await readFile(found.file, 'utf8'), inject)
    response.writeHead(200, { ...own, 'content-length': Buffer.byteLength(page) })
    response.end(method === 'HEAD' ? undefined : page)
    return
  }
  response.writeHead(200, { ...own, 'content-length': found.size })
  if (method === 'HEAD') response.end()
  else
    createReadStream(found.file)
      .on('error', () => response.destroy())
      .pipe(response)
}

async function locate(
  root: string,
  path: string,
): Promise<{ file: string; size: number; isFallback: boolean } | { redirect: string } | null> {
  const relative = path.slice(1)
  if (PRIVATE.test(relative) || path.includes('\0')) return null
  const whole = await realpath(root)
  for (const [index, candidate] of [relative, join(relative, 'index.html'), 'index.html'].entries()) {
    const file = await realpath(join(whole, candidate)).catch(() => null)
    if (!file || (file !== whole && !file.startsWith(whole + sep))) continue
    const found = await stat(file)
    if (!found.isFile()) continue
    if (candidate !== relative && candidate !== 'index.html' && !path.endsWith('/'))
      return { redirect: `${encodeURI(path)}/` }
    return { file, size: found.size, isFallback: index === 2 }
  }
  return null
}

function withInjection(page: string, html: string): string {
  const at = page.search(/<\/body\s*>/i)
  return at === -1 ? page + html : page.slice(0, at) + html + page.slice(at)
}

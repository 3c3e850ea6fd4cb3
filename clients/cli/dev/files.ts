import { realpath, stat } from 'node:fs/promises'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { join, sep } from 'node:path'

/** The rules by which the platform serves files. They are the server's own, which this folder can't import. */
export interface ServingRules {
  /** Whether a request is for a part of a page, so that the start page is no answer to it. */
  isPartOfPage(headers: IncomingHttpHeaders, path: string): boolean
  /** Returns the type of a file by its path in the build, and the coding in which its maker stored it. */
  describe(path: string): { contentType: string; encoding: 'br' | 'gzip' | null }
  /** Answers with a file. */
  send(
    request: IncomingMessage,
    response: ServerResponse,
    file: {
      file: string
      size: number
      modifiedMs: number
      contentType: string
      encoding: 'br' | 'gzip' | null
      headers: Readonly<Record<string, string>>
      inject: string
    },
  ): Promise<void>
}

export interface FilesOptions {
  root: string
  /** The HTML inserted before the end of every page. */
  inject: string
  /** The headers of every response. */
  headers: Record<string, string>
  rules: ServingRules
}

/** Matches files that are never served, because a deploy would not publish them. */
const PRIVATE = /(?:^|\/)(?:\.git|\.env[^/]*|node_modules)(?:\/|$)/i

/** Serves a folder as a game's own origin does: the file, a folder's `index.html`, else the game's own page. */
export async function serveFile(
  { root, inject, headers, rules: { isPartOfPage, describe, send } }: FilesOptions,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const found = await locate(root, path)
  if (found && 'redirect' in found) {
    // The folder may be a file at the next change.
    response.writeHead(302, { ...headers, location: found.redirect, 'cache-control': 'no-store' }).end()
    return
  }
  if (!found || (found.isFallback && isPartOfPage(request.headers, path))) {
    response.writeHead(404, {
      'cache-control': 'no-store',
      vary: 'sec-fetch-dest',
      ...headers,
      'content-type': 'text/plain; charset=utf-8',
    })
    response.end(request.method === 'HEAD' ? undefined : `There is no ${path} here.\n`)
    return
  }
  await send(request, response, {
    file: found.file,
    size: found.size,
    modifiedMs: found.modifiedMs,
    headers,
    inject,
    ...describe(found.path),
  })
}

interface Located {
  file: string
  /** In the build. */
  path: string
  size: number
  modifiedMs: number
  isFallback: boolean
}

async function locate(root: string, path: string): Promise<Located | { redirect: string } | null> {
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
    return { file, path: candidate, size: found.size, modifiedMs: found.mtimeMs, isFallback: index === 2 }
  }
  return null
}

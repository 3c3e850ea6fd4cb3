import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { CliError } from '../errors.ts'
import { type ServingRules, serveFile } from './files.ts'
import { LiveReload, RELOAD_PATH, RELOAD_SCRIPT } from './live-reload.ts'
import { isPlatformPath, PlatformProxy } from './proxy.ts'
import { signInPage } from './sign-in.ts'

export interface DevOptions {
  folder: string
  port: number
  /** The deployed game that provides sign-in, rooms and scripts; null serves only the files. */
  game: { url: string; settings: { authWidget: 'on' | 'off' } } | null
  /** Whether the files are served cross-origin isolated. It is asked for each file, since a build changes. */
  isolated(): boolean
  /** Returns a script of the platform by its name, such as `saves.js`, for a server without a game; null if unknown. */
  script(name: string): Promise<Uint8Array | null>
  rules: ServingRules
  /** The name of the preview whose rooms the pages enter; null for the rooms of the game. */
  preview?: () => string | null
  /** Called with the changed files. Pages reload afterwards. */
  changed(names: string[]): void | Promise<void>
}

export interface DevServer {
  url: string
  close(): Promise<void>
}

/** Where pages report their exceptions (clients/browser/errors.ts). */
const ERRORS_PATH = '/__service/errors'

const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
}

/** Runs the game on this machine, with its files from a folder and everything else from the platform. */
export async function startDevServer(options: DevOptions): Promise<DevServer> {
  const { folder, port, game, isolated, script, rules, changed, preview = () => null } = options
  let reload: LiveReload | null = null
  let own = ''
  let proxy: PlatformProxy | null = null
  const widget =
    game?.settings.authWidget === 'on' ? '<script type="module" src="/__service/auth-widget.js"></script>' : ''
  const files = { root: folder, inject: widget + RELOAD_SCRIPT }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = addressOf(request, own)
    const { method = 'GET' } = request
    if (pathname === RELOAD_PATH)
      return reload?.listen(response, Number(searchParams.get('since') ?? Number.POSITIVE_INFINITY))
    // What fails here is no error of players.
    if (pathname === ERRORS_PATH) return void response.writeHead(204).end()
    if (isPlatformPath(pathname)) {
      if (!proxy || !game) {
        if (await answerAlone(pathname, script, response)) return
        response.writeHead(404, { 'content-type': 'application/json' })
        const message = 'No game of a platform is behind this: gameyard dev DIR --game SLUG'
        response.end(JSON.stringify({ error: { message, code: 'not_found' } }))
      } else if (pathname === '/auth/service/start') {
        const shared = new URL(game.url).hostname === new URL(own).hostname
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
        response.end(signInPage(new URL(game.url).origin, { returnTo: searchParams.get('returnTo'), shared }))
      } else proxy.forward(request, response)
      return
    }
    if (method !== 'GET' && method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
      return
    }
    await serveFile(
      { ...files, headers: isolated() ? ISOLATED : {}, rules },
      decodeURIComponent(pathname),
      request,
      response,
    )
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (response.headersSent) return response.destroy()
      response.writeHead(error instanceof URIError ? 400 : 500, { 'content-type': 'text/plain; charset=utf-8' })
      response.end(`${error.message}\n`)
    })
  })
  const roomSockets = new Set<Duplex>()
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    roomSockets.add(socket)
    socket.once('close', () => roomSockets.delete(socket))
    if (proxy && isPlatformPath(addressOf(request, own).pathname)) proxy.upgrade(request, socket, head)
    else socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
  })
  const chosen = await listen(server, port)
  reload = new LiveReload(folder, changed)
  // If the game's host name resolves to this machine, the server uses it, so that a session there is valid here.
  const hostname = game && isLocal(new URL(game.url).hostname) ? new URL(game.url).hostname : 'localhost'
  own = `http://${hostname}:${chosen}`
  if (game) proxy = new PlatformProxy(new URL(game.url).origin, own, preview)
  return {
    url: `${own}/`,
    async close() {
      reload?.close()
      server.closeAllConnections()
      // The server waits for these, too, and does not close them itself.
      for (const socket of roomSockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Returns the address of a request. Slashes that follow each other are one, as on the platform, and name no host. */
function addressOf({ url = '/' }: IncomingMessage, own: string): URL {
  const address = new URL(url.replace(/^\/+/, '/'), own)
  address.pathname = address.pathname.replace(/\/{2,}/g, '/')
  return address
}

/**
 * Answers the platform's paths without a platform as far as a game needs them to run: its scripts, and a session in
 * which nobody is signed in. Saves then stay on the device. @returns whether it has answered
 */
async function answerAlone(path: string, script: DevOptions['script'], response: ServerResponse): Promise<boolean> {
  if (path === '/auth/service/session') {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end('{"signedIn":false}')
    return true
  }
  const name = /^\/__service\/([a-z-]+\.js)$/.exec(path)?.[1]
  const bytes = name === undefined ? null : await script(name)
  if (!bytes) return false
  response.writeHead(200, { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'no-store' })
  response.end(bytes)
  return true
}

const isLocal = (hostname: string): boolean => /(?:^|\.)localhost$|^127\./.test(hostname)

function listen(server: ReturnType<typeof createServer>, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE'
      const message = taken
        ? `Port ${port} is taken by another program.`
        : `Port ${port} can't be used (${error.code}).`
      reject(new CliError(message, { code: 'port', hint: 'Choose another: --port 4001, or --port 0 for a free one.' }))
    })
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}

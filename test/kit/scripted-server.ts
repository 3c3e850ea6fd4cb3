import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

/** A server in the place of a platform, whose answers a test writes. */
export interface ScriptedServer {
  baseUrl: string
  /** The requests since `answer` was called, with their Idempotency-Key. */
  seen: { path: string; key: unknown }[]
  /** Gives these answers in turn, and the last one again. */
  answer(...script: Answer[]): void
}

/** Starts a server that ends with the test. */
export async function startScriptedServer(t: Pick<Test, 'teardown'>): Promise<ScriptedServer> {
  let answers: Answer[] = []
  const seen: ScriptedServer['seen'] = []
  const server = createServer((request, response) => {
    request.resume()
    seen.push({ path: request.url ?? '', key: request.headers['idempotency-key'] })
    const next = answers.length > 1 ? answers.shift() : answers[0]
    next?.(response, request)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answer(...script) {
      answers = script
      seen.length = 0
    },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

export const json =
  (body: unknown, status = 200, headers = {}): Answer =>
  (response) =>
    response.writeHead(status, { ...JSON_TYPE, ...headers }).end(JSON.stringify(body))

/** The page of something that is no platform. */
export const page: Answer = (response) =>
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Sign in to this network</h1>')

/** Sends the beginning, and closes the connection. */
export const cut =
  (begin: string, headers: Record<string, string> = JSON_TYPE): Answer =>
  (response) => {
    response.writeHead(200, headers)
    response.flushHeaders()
    if (begin !== '') response.write(begin)
    setImmediate(() => response.destroy())
  }

/** A cut body of JSON, whose length only the end of the connection says. */
export const cutWithoutLength: Answer = (response) =>
  response.socket?.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"id":')

/** Sends the beginning, and nothing more. */
export const stalled =
  (begin: string, headers: Record<string, string> = JSON_TYPE, status = 200): Answer =>
  (response) =>
    response.writeHead(status, headers).write(begin)

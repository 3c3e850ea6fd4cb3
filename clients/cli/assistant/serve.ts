import {
  isInputRequiredResult,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { type Api, problemIn } from '../api.ts'
import { CliError } from '../errors.ts'
import { describesItself, Questions, withoutDescription } from './elicitation.ts'
import { callFolderTool, DEPLOY_FOLDER, type Surroundings } from './folder-tool.ts'

/** Longer than any message that a platform takes, which refuses with words what would end this connection. */
const LONGEST_LINE = 64 * 1024 ** 2

/** A request that the platform, or this program, has not answered yet. */
interface OpenRequest {
  request: JSONRPCRequest
  stop: AbortController
  /** Whether questions in its answer are sent to the client as requests. */
  asks: boolean
}

/**
 * Serves the Model Context Protocol on standard input and output until the input ends: passes every message to the
 * platform's endpoint, adds the tool for folders of this machine, and asks the person for clients of the revisions of
 * 2025.
 */
export async function serveAssistant(api: Api, surroundings: Surroundings): Promise<void> {
  const { token, userAgent } = api.connection
  const local = new StdioServerTransport(undefined, undefined, { maxBufferSize: LONGEST_LINE })
  const headers = { authorization: `Bearer ${token}`, 'user-agent': userAgent }
  const remote = new StreamableHTTPClientTransport(new URL('/mcp', api.baseUrl), { requestInit: { headers } })
  const open = new Map<string | number, OpenRequest>()
  const answer = (message: JSONRPCMessage) => local.send(message).catch(() => {})
  const questions = new Questions(answer)
  const failed = ({ request: { id }, stop }: OpenRequest) => {
    return (error: unknown) => {
      if (!open.delete(id) || stop.signal.aborted) return
      void answer({ jsonrpc: '2.0', id, error: { code: -32_000, message: sentence(api.baseUrl, error) } })
    }
  }

  /** Passes on the result of a call, or asks what it asks, and calls again with the decision. */
  const goOn = async ({ request, stop }: OpenRequest, result: Record<string, unknown>) => {
    const { id } = request
    if (!isInputRequiredResult(result)) {
      open.delete(id)
      await answer({ jsonrpc: '2.0', id, result: withoutDescription(result) })
      return
    }
    const { inputRequests, requestState } = result
    const inputResponses = await questions.ask(inputRequests, stop.signal)
    if (stop.signal.aborted) return
    const params = { ...request.params, inputResponses, ...(requestState === undefined ? {} : { requestState }) }
    await remote.send(questions.describe({ ...request, params }), { requestSignal: stop.signal })
  }

  remote.onmessage = (message) => {
    if ('id' in message && message.id !== undefined && !('method' in message)) {
      const known = open.get(message.id)
      if (known?.asks && 'result' in message) {
        goOn(known, message.result).catch(failed(known))
        return
      }
      open.delete(message.id)
      const method = known?.request.method
      if ('result' in message && method === 'initialize') {
        remote.setProtocolVersion(String(message.result.protocolVersion))
      }
      if ('result' in message && method === 'tools/list') addFolderTool(message.result)
    }
    void answer(message)
  }
  remote.onerror = () => {} // the answer to the request says what is wrong

  local.onmessage = (message) => {
    if (!('method' in message)) {
      questions.settle(message)
      return
    }
    if (!('id' in message)) {
      if (message.method === 'notifications/cancelled') {
        const id = (message.params as { requestId?: string | number } | undefined)?.requestId
        if (id !== undefined) open.get(id)?.stop.abort()
        return
      }
      void remote.send(message).catch(() => {})
      return
    }
    const { id, method } = message
    if (method === 'initialize') questions.readHandshake(message)
    const stop = new AbortController()
    const isCall = method === 'tools/call'
    const isOwn = isCall && (message.params as { name?: string } | undefined)?.name === DEPLOY_FOLDER.name
    const request = { request: message, stop, asks: isCall && !isOwn && questions.needsRequests(message) }
    open.set(id, request)
    const work = isOwn
      ? callFolderTool({ api, questions, notify: answer }, message, {
          ...surroundings,
          signal: AbortSignal.any([surroundings.signal, stop.signal]),
        })
          .then((result) => answer({ jsonrpc: '2.0', id, result: { ...completed(message), ...result } }))
          .finally(() => open.delete(id))
      : remote.send(request.asks ? questions.describe(message) : message, { requestSignal: stop.signal })
    work.catch(failed(request))
  }

  const ended = new Promise<void>((done) => {
    local.onclose = () => done()
    surroundings.signal.addEventListener('abort', () => done(), { once: true })
  })
  await remote.start()
  await local.start()
  await ended
  for (const { stop } of open.values()) stop.abort()
  await Promise.all([remote.close(), local.close()])
}

/** The list may come in pages. The tool is on the last one. */
function addFolderTool(result: Record<string, unknown>): void {
  if (Array.isArray(result.tools) && result.nextCursor === undefined) result.tools.push(DEPLOY_FOLDER)
}

/** Since the revision of 2026-07-28 a result says that it is complete. */
const completed = ({ params }: JSONRPCRequest): object => (describesItself(params) ? { resultType: 'complete' } : {})

/** Says in a sentence why the platform gave no answer. */
function sentence(baseUrl: string, error: unknown): string {
  const { status, text } = (error as { data?: { status?: number; text?: unknown } }).data ?? {}
  if (status === 401 || status === 403) return `${baseUrl} refuses the token. Sign in again: gameyard login`
  if (error instanceof CliError) return error.message
  const said = typeof text === 'string' && problemIn(text)
  if (said) return said.message
  return `${baseUrl} gave no answer: ${error instanceof Error ? error.message : String(error)}`
}

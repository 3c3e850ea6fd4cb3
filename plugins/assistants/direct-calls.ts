import {
  classifyInboundRequest,
  isSpecType,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'
import type { CallResult } from './call-tool.ts'
import type { RegisteredTool } from './tool-table.ts'

/** The revision of the protocol whose requests describe themselves. Its predecessors begin with a handshake. */
const MODERN = '2026-07-28'
const FORMER = '2025'
const METHOD = 'tools/call'
const PARAMETERS = new Set(['name', 'arguments', '_meta'])

/** A call that is answered without a server of the SDK. */
export interface DirectCall {
  id: string | number
  tool: RegisteredTool
  arguments: unknown
  modern: boolean
}

/**
 * Recognises the calls that are answered directly: a plain `tools/call` of a tool that only reads. They are most calls
 * of assistants, and a server, a transport and a web request of the SDK for each would cost several times as much as the
 * work. The SDK classifies and validates them as it does all others; whatever is unusual in a request, and whatever is
 * answered with a question, a stream or an error of the protocol, is left to the SDK.
 *
 * @returns null for a request that the SDK answers
 */
export function directCall(
  { body, headers }: FastifyRequest,
  tools: ReadonlyMap<string, RegisteredTool>,
): DirectCall | null {
  if (!isObject(body) || Object.keys(body).length !== 4) return null
  const { jsonrpc, id, method, params } = body
  if (jsonrpc !== '2.0' || method !== METHOD || !isRequestId(id) || !isObject(params)) return null
  const tool = tools.get(params.name as string)
  if (tool?.effect !== 'reads' || tool.reportsProgress) return null
  if (Object.keys(params).some((name) => !PARAMETERS.has(name))) return null
  if (params.arguments !== undefined && !isObject(params.arguments)) return null
  const { accept = '', 'content-type': type = '' } = headers
  if (!type.startsWith('application/json') || !accept.includes('application/json')) return null
  if (!accept.includes('text/event-stream')) return null
  const modern = isModern(headers, params, tool.name)
  return modern === null ? null : { id, tool, arguments: params.arguments, modern }
}

/** Whether a request is one of the modern revision; null when the SDK has something to say about it. */
function isModern(headers: FastifyRequest['headers'], params: Record<string, unknown>, tool: string): boolean | null {
  const { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': name } = headers
  const former = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version as string)
  const { _meta: meta } = params
  if (meta === undefined) return former ? false : null
  if (!isObject(meta)) return null
  if (version === MODERN) return method === METHOD && name === tool && isAccepted(MODERN, meta) ? true : null
  return former && isAccepted(FORMER, meta) ? false : null
}

/**
 * The descriptions of clients (`_meta`) that the SDK has accepted, by revision. A client sends the same one with each
 * call, and its validation by the SDK would cost more than anything else that is not the work itself.
 */
const accepted = { [MODERN]: new Set<string>(), [FORMER]: new Set<string>() }
const MOST_ACCEPTED = 256
/** A longer description is validated at each call. */
const LONGEST_ACCEPTED = 2048

/** Whether the SDK accepts a plain call with this description. The rest of such a call has been checked. */
function isAccepted(revision: typeof MODERN | typeof FORMER, meta: Record<string, unknown>): boolean {
  const { progressToken, ...lasting } = meta
  // This token is another one in each call.
  if (progressToken !== undefined && !isRequestId(progressToken)) return false
  const known = accepted[revision]
  const description = JSON.stringify(lasting)
  if (known.has(description)) return true
  const call = { jsonrpc: '2.0', id: 0, method: METHOD, params: { name: 'any', _meta: meta } }
  const outcome = classifyInboundRequest({
    httpMethod: 'POST',
    body: call,
    mcpMethodHeader: METHOD,
    ...(revision === MODERN ? { protocolVersionHeader: MODERN } : {}),
  })
  const accepts =
    revision === MODERN
      ? outcome.kind === 'modern' && outcome.classification.revision === MODERN
      : outcome.kind === 'legacy' && isSpecType.CallToolRequest(call)
  if (accepts && description.length <= LONGEST_ACCEPTED) {
    if (known.size >= MOST_ACCEPTED) known.clear()
    known.add(description)
  }
  return accepts
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isRequestId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id)

/**
 * Writes the answer of a direct call, in the form that the SDK gives it.
 *
 * @param server the name and version of this server, which an answer of the modern revision has
 */
export function answerOf({ id, modern }: DirectCall, result: CallResult, server: object): string {
  const stamped = modern ? { ...result, resultType: 'complete', _meta: { [SERVER_INFO_META_KEY]: server } } : result
  return JSON.stringify({ jsonrpc: '2.0', id, result: stamped })
}

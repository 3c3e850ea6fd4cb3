import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { FastifyInstance } from 'fastify'
import { Internal, isPlatformError, MissingScope, type PlatformError } from '../../core/errors.ts'
import { authorOf, type Principal } from '../../core/http/auth.ts'
import { runAs } from '../../core/observe/author.ts'
import type { LastCalls } from './last-calls.ts'
import { nextStep } from './next-steps.ts'
import { AnswerWithPictures, type Arguments } from './tool.ts'
import type { RegisteredTool } from './tool-table.ts'

/** What a tool returns to the protocol. */
export type CallResult = CallToolResult | InputRequiredResult

/** The part of a request's context that calls of tools use. */
export interface CallContext {
  mcpReq: Pick<ServerContext['mcpReq'], 'signal' | 'notify'> &
    Partial<Pick<ServerContext['mcpReq'], '_meta' | 'envelope' | 'inputResponses'>>
}

/** The caller of a request to the endpoint. */
export interface Caller {
  app: FastifyInstance
  principal: Principal
  requestId: string
  lastCalls: LastCalls
  /** Asks the person by a request to the client, for clients of the revisions of 2025 that can show a form. */
  confirm?: (question: Question) => Promise<boolean>
}

/** A question with a form (elicitation). */
export interface Question {
  message: string
  requestedSchema: {
    type: 'object'
    properties: { confirm: { type: 'boolean'; title: string; default: boolean } }
    required: string[]
  }
}

const NO = 'The person said no, so nothing was changed.'

/**
 * Runs a tool. Refusals are answers for the assistant (`isError`), with the error body of the API and the next step.
 *
 * @throws ProtocolError for an unknown tool
 */
export async function callTool(
  caller: Caller,
  tool: RegisteredTool | undefined,
  given: unknown,
  context: CallContext,
): Promise<CallResult> {
  if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool of this name; see tools/list.')
  const { app, principal } = caller
  try {
    mustHaveScope(principal, tool)
    const args = tool.check(given)
    const message = tool.confirm?.(args)
    if (message && caller.confirm) {
      if (!(await caller.confirm(questionOf(message)))) return refusal(NO)
    } else if (message && canAsk(context)) {
      const answer = acceptedContent<{ confirm?: unknown }>(context.mcpReq.inputResponses, 'confirm')
      if (context.mcpReq.inputResponses === undefined) return ask(questionOf(message))
      if (answer?.confirm !== true) return refusal(NO)
    }
    if (tool.perMinute !== null) {
      // The same counter as the route's.
      await app.rateLimiter.take(`${tool.route}/${principal.playerId}`, tool.perMinute, 60_000)
    }
    const work = () => run(caller, tool, args, context)
    // A tool that reads changes nothing that would have an author.
    const answer = await (tool.effect === 'reads' ? work() : runAs({ ...authorOf(principal), tool: tool.name }, work))
    caller.lastCalls.note(principal, tool.name, tool.game?.(args, answer) ?? null)
    return shown(tool.present ? tool.present(answer) : answer, tool)
  } catch (error) {
    const known = asPlatformError(caller, error)
    return failure(known, app.origins.portal)
  }
}

/** Runs the work of a tool, once for an `idempotencyKey`. */
async function run(caller: Caller, tool: RegisteredTool, args: Arguments, context: CallContext): Promise<unknown> {
  const { app, principal } = caller
  const { mcpReq } = context
  const token = mcpReq._meta?.progressToken
  let latest = 0
  const call = {
    app,
    principal,
    playerId: principal.playerId,
    signal: mcpReq.signal,
    showsProgress: token !== undefined,
    remember: async () => {},
    async progress(done: number, message: string) {
      if (token === undefined || done < latest) return
      latest = done
      const params = { progressToken: token, progress: done, total: 1, message }
      await mcpReq.notify({ method: 'notifications/progress', params })
    },
  }
  const { idempotencyKey: key, ...plain } = args
  const followed = async (answer: unknown) => (tool.follow ? tool.follow(call, plain, answer) : answer)
  if (!tool.idempotent || key === undefined) return followed(await tool.call(call, plain))
  const { playerId } = principal
  const once = { playerId, use: tool.route, key, body: plain }
  const answer = await app.answerOnce(once, async (remember) =>
    tool.serialize(await tool.call({ ...call, remember }, plain)),
  )
  return followed(JSON.parse(answer))
}

/** @throws MissingScope with the text of the API */
function mustHaveScope({ scopes }: Principal, { scope }: RegisteredTool): void {
  if (scope && scopes !== 'all' && !scopes.has(scope)) throw new MissingScope(scope)
}

/** Whether the client of a call of the revision of 2026-07-28 can show a form; one that names no mode can. */
function canAsk({ mcpReq }: CallContext): boolean {
  const envelope = mcpReq.envelope as Record<string, ClientCapabilities | undefined> | undefined
  const { elicitation } = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

const questionOf = (message: string): Question => ({
  message,
  requestedSchema: {
    type: 'object',
    properties: { confirm: { type: 'boolean', title: 'Yes, do it', default: false } },
    required: ['confirm'],
  },
})

const ask = (question: Question): InputRequiredResult =>
  inputRequired({ inputRequests: { confirm: inputRequired.elicit(question) } })

function shown(answer: unknown, tool: RegisteredTool): CallToolResult {
  if (!(answer instanceof AnswerWithPictures)) return { content: [{ type: 'text', text: tool.serialize(answer) }] }
  const pictures = answer.pictures.map(({ bytes, contentType }) => ({
    type: 'image' as const,
    data: bytes.toString('base64'),
    mimeType: contentType,
  }))
  return { content: [{ type: 'text', text: tool.serialize(answer.value) }, ...pictures] }
}

const refusal = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] })

function asPlatformError({ app, requestId }: Caller, error: unknown): PlatformError {
  if (isPlatformError(error) && error.statusCode < 500) return error
  app.log.error({ err: error, reqId: requestId }, 'a tool failed')
  return isPlatformError(error) ? error : new Internal(requestId)
}

/** The error body of the API, with what to do next. */
function failure(error: PlatformError, portal: string): CallToolResult {
  const { code, details, body } = error
  // The words of the API for the header that is an argument here.
  const message = error.message
    .replace('Idempotency-Key', 'idempotencyKey')
    .replace('another request body', 'other arguments')
  const next = nextStep(error, portal)
  return refusal(
    JSON.stringify({
      error: { message, code, ...(details?.length ? { details } : {}), ...(next ? { next } : {}) },
      ...body,
    }),
  )
}

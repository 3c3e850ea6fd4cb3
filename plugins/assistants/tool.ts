import type { FastifyInstance } from 'fastify'
import type { TProperties } from 'typebox'
import type { Principal } from '../../core/http/auth.ts'
import type { RememberOnce } from '../../core/http/idempotency.ts'

/** One call of a tool. */
export interface ToolCall {
  app: FastifyInstance
  principal: Principal
  playerId: string
  /** Aborts when the caller cancels, or its connection closes. */
  signal: AbortSignal
  /** Whether the caller shows progress, and so waits as long as there is some. */
  showsProgress: boolean
  /** Tells the caller how far the work is: 0 to 1, and the current step in a few words. */
  progress(done: number, step: string): Promise<void>
  /** Stores the answer in the transaction of the work, for a repeated call with the same `idempotencyKey`. */
  remember: RememberOnce
}

/** A picture in the answer of a tool, beside its text. */
export interface Picture {
  bytes: Buffer
  contentType: string
}

/** An answer with pictures. All other values are sent as JSON. */
export class AnswerWithPictures {
  readonly value: unknown
  readonly pictures: Picture[]

  constructor(value: unknown, pictures: Picture[]) {
    this.value = value
    this.pictures = pictures
  }
}

/** Arguments of a tool, after validation. */
// biome-ignore lint/suspicious/noExplicitAny: each tool's schema, or that of its route, has checked them
export type Arguments = any

/**
 * A tool of coding assistants: a thin call of a service that a route also calls.
 *
 * The route is named as the route table has it (`POST /api/games`). From it come the scope, the arguments (its
 * parameters, query and body in one), the form of the answer, `Idempotency-Key` and the limit of its own. A tool is
 * absent where the plugin of its route is turned off.
 */
export interface Tool {
  /** `snake_case`. */
  name: string
  /** A few words for people. */
  title: string
  route: string
  /** One or two sentences for the assistant. */
  description: string
  /** What a call does to the things of the player. `replaces`: an earlier state may be lost or hidden. */
  effect: 'reads' | 'adds' | 'replaces'
  /** Whether a call may take long, and tells how far it is. */
  reportsProgress?: boolean
  /** Whether a second call with the same arguments changes nothing more. */
  repeatable?: boolean
  /** The scope, where the route has another rule. */
  scope?: string
  /** The arguments, where they are not those of the route. Optional ones are `Type.Optional`. */
  input?: TProperties
  /** Arguments in addition to those of the route. */
  also?: TProperties
  /** Arguments of the route that are left out. */
  without?: readonly string[]
  /** The route whose answer it has, or `any` for an answer of its own. Default: `route` */
  answers?: string
  /** The question that a person is asked before the call, where the client can ask; null: none for these arguments. */
  confirm?(args: Arguments): string | null
  /** The id or slug of the game that a call reads or changes. */
  game?(args: Arguments, answer: Arguments): string | null
  /** Shows an answer, such as a picture in it as a picture. */
  present?(answer: Arguments): unknown
  call(call: ToolCall, args: Arguments): Promise<unknown>
  /** Work that follows each answer, also a stored one, and may be repeated. @returns the answer, with what it adds */
  follow?(call: ToolCall, args: Arguments, answer: Arguments): Promise<unknown>
}

/** Gives a group of tools its type. */
export const defineTools = (tools: Tool[]): Tool[] => tools

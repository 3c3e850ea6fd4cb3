import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type InputRequiredResult,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/client'

/** The revision whose calls can be answered with a question (`input_required`). */
const REVISION = '2026-07-28'

interface Capabilities {
  elicitation?: { form?: object; url?: object }
}

/** What a client of the revisions of 2025 says of itself, once (`initialize`). */
interface Handshake {
  capabilities?: Capabilities
  clientInfo?: unknown
}

/** The answer of a person to a question (`ElicitResult`). */
interface Decision {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, unknown>
}

type Decisions = Record<string, Decision>

/**
 * Questions to the person before a call that replaces something (elicitation). A client of the revision of 2026-07-28
 * gets a question as the answer of its call, and calls again with the decision. A client of the revisions of 2025 gets
 * it as a request, which only a connection such as standard input and output can carry.
 */
export class Questions {
  readonly #send: (message: JSONRPCMessage) => Promise<void>
  readonly #open = new Map<string, (decision: Decision) => void>()
  #handshake: Handshake = {}
  #asked = 0

  /** @param send to the client */
  constructor(send: (message: JSONRPCMessage) => Promise<void>) {
    this.#send = send
  }

  readHandshake({ params }: JSONRPCRequest): void {
    this.#handshake = (params ?? {}) as Handshake
  }

  /** Whether a call is one of a client that can show a question only as a request. */
  needsRequests({ params }: JSONRPCRequest): boolean {
    return !describesItself(params) && showsForms(this.#handshake.capabilities)
  }

  /** Adds what the handshake said to a call, so that the platform answers with a question rather than act. */
  describe(call: JSONRPCRequest): JSONRPCRequest {
    const { capabilities = {}, clientInfo } = this.#handshake
    const envelope = {
      [PROTOCOL_VERSION_META_KEY]: REVISION,
      [CLIENT_INFO_META_KEY]: clientInfo,
      [CLIENT_CAPABILITIES_META_KEY]: { elicitation: capabilities.elicitation },
    }
    return { ...call, params: { ...call.params, _meta: { ...call.params?._meta, ...envelope } } }
  }

  /** Sends questions as requests. When the call is cancelled they are withdrawn, and count as not answered. */
  async ask(questions: InputRequiredResult['inputRequests'], signal: AbortSignal): Promise<Decisions> {
    const decisions: Decisions = {}
    for (const [name, { params }] of Object.entries(questions ?? {})) {
      // `form` is what a client assumes, and those of 2025-06-18 do not know the field.
      const { mode: _form, ...question } = params as Record<string, unknown>
      decisions[name] = await this.#request(question, signal)
    }
    return decisions
  }

  async #request(params: Record<string, unknown>, signal: AbortSignal): Promise<Decision> {
    if (signal.aborted) return { action: 'cancel' }
    const id = `question-${++this.#asked}`
    const { promise, resolve } = Promise.withResolvers<Decision>()
    this.#open.set(id, resolve)
    const withdraw = () => {
      void this.#send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
      resolve({ action: 'cancel' })
    }
    signal.addEventListener('abort', withdraw, { once: true })
    await this.#send({ jsonrpc: '2.0', id, method: 'elicitation/create', params })
    const decision = await promise
    signal.removeEventListener('abort', withdraw)
    this.#open.delete(id)
    return decision
  }

  /** Takes the client's answer to a question. An error is no consent. */
  settle(message: JSONRPCMessage): void {
    if (!('id' in message) || 'method' in message) return
    const settle = this.#open.get(String(message.id))
    settle?.('result' in message ? (message.result as unknown as Decision) : { action: 'cancel' })
  }

  /**
   * Asks before a call that this program answers itself.
   *
   * @returns whether to act (true where the client can't ask), or the question as the answer of the call
   */
  async confirm(call: JSONRPCRequest, message: string, signal: AbortSignal): Promise<boolean | InputRequiredResult> {
    const question: InputRequiredResult = {
      resultType: 'input_required',
      inputRequests: {
        confirm: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message,
            requestedSchema: {
              type: 'object',
              properties: { confirm: { type: 'boolean', title: 'Yes, do it', default: false } },
              required: ['confirm'],
            },
          },
        },
      },
    }
    if (this.needsRequests(call)) return isYes(await this.ask(question.inputRequests, signal))
    if (!describesItself(call.params) || !showsForms(capabilitiesOf(call.params))) return true
    const decisions = call.params?.inputResponses as Decisions | undefined
    return decisions === undefined ? question : isYes(decisions)
  }
}

/** Removes from a result what clients of the revisions of 2025 do not know. */
export function withoutDescription({ resultType: _type, _meta, ...result }: Record<string, unknown>) {
  const { [SERVER_INFO_META_KEY]: _server, ...meta } = (_meta ?? {}) as Record<string, unknown>
  return Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result
}

/** Whether a call is one of the revision of 2026-07-28, in which each request says what the client can do. */
export const describesItself = (params: JSONRPCRequest['params']): boolean =>
  params?._meta !== undefined && PROTOCOL_VERSION_META_KEY in params._meta

const capabilitiesOf = (params: JSONRPCRequest['params']): Capabilities | undefined =>
  params?._meta?.[CLIENT_CAPABILITIES_META_KEY] as Capabilities | undefined

/** A client that names no mode shows forms. */
const showsForms = ({ elicitation }: Capabilities = {}): boolean =>
  elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)

const isYes = ({ confirm }: Decisions): boolean => confirm?.action === 'accept' && confirm.content?.confirm === true

interface Shared {
  /** At most 8,000 characters. */
  prompt: string
  /** Default: the first model of the platform for this type. */
  model?: string
  /** Ends the generation, which then costs nothing. */
  signal?: AbortSignal
}

interface Written extends Shared {
  /** Instructions for the model, before the prompt. */
  system?: string
  /** Default: 4,096; maximum: 16,384. */
  maxOutputTokens?: number
  /** 0 to 2. */
  temperature?: number
}

export interface TextRequest extends Written {
  /** Default: `text`. */
  type?: 'text'
  /** Called with each piece of the text as the model writes it, and with the text so far. */
  onText?: (piece: string, text: string) => void
}

export interface ObjectRequest extends Written {
  type: 'object'
  /** The JSON Schema of the result. */
  schema?: object
}

export interface ImageRequest extends Shared {
  type: 'image'
  /** A ratio such as `16:9`. */
  aspectRatio?: string
  imageSize?: '1K' | '2K'
}

/** An image in base64. */
export interface Image {
  b64Json: string
  contentType: string
}

/** The result, its model, and its cost. */
export interface Generated<Result> {
  id: string
  type: 'text' | 'object' | 'image'
  model: string
  result: Result
  /** How a text ended: by itself, at `maxOutputTokens`, or at the provider's filter. */
  finish: 'complete' | 'length' | 'filtered'
  creditsUsed: number
}

interface Refusal {
  status?: number | null
  retryAfter?: number | null
  reason?: string
  allowUrl?: string
  creditsUrl?: string
  signIn?: string
  limit?: number
  used?: number
  resetsAt?: string
}

/** A refused or failed generation. It costs nothing. */
export class AiError extends Error {
  override name = 'AiError'
  /**
   * The platform's code: `unauthorized` when nobody is signed in, `ai_not_allowed`, `daily_limit_reached`,
   * `insufficient_credits`, `account_required` for a guest, `other_player` when another one has signed in since the page
   * was loaded, `rate_limited`, `upstream_error`, `ai_not_configured`; `offline` without a connection.
   */
  readonly code: string
  /** The HTTP status of the answer; null without one. */
  readonly status: number | null
  /** The seconds after which to try again, if the platform gave them. */
  readonly retryAfter: number | null
  /** Why a generation failed, of `upstream_error`. */
  readonly reason: string | null
  /** The page on which the player allows the game credits a day, or changes them. Open it in a new tab, from a click. */
  readonly allowUrl: string | null
  /** The page with the player's credits, of `insufficient_credits`. */
  readonly creditsUrl: string | null
  /** The address of the sign-in, of `unauthorized`. */
  readonly signIn: string | null
  /** Of `daily_limit_reached`: the credits a day, those that are spent or reserved today, and the end of the day. */
  readonly limit: number | null
  readonly used: number | null
  readonly resetsAt: string | null

  constructor(code: string, message: string, refusal: Refusal) {
    super(message)
    this.code = code
    this.status = refusal.status ?? null
    this.retryAfter = refusal.retryAfter ?? null
    this.reason = refusal.reason ?? null
    this.allowUrl = refusal.allowUrl ?? null
    this.creditsUrl = refusal.creditsUrl ?? null
    this.signIn = refusal.signIn ?? null
    this.limit = refusal.limit ?? null
    this.used = refusal.used ?? null
    this.resetsAt = refusal.resetsAt ?? null
  }
}

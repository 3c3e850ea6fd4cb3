import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Statements } from '../../core/data/database.ts'
import { InvalidRequest, invalidField, NotFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { visibleText } from '../../core/visible-text.ts'
import { type AiProvider, type Finish, type GenerationType, ProviderError } from '../../drivers/ai/interface.ts'
import type { Asset, NewAsset } from '../assets/index.ts'
import type { Balance } from '../billing/index.ts'
import type { Allowances } from './allowances/allowances.ts'
import { type Deadline, deadline } from './deadline.ts'
import { AiNotConfigured } from './errors.ts'
import { estimateTokens, priceOf, worstPrice } from './prices.ts'
import type { SchemaCheck } from './schema-check.ts'
import type { AiLimits, GenerateRequest, Generation, Picture } from './schemas.ts'

/** The characters of a prompt that are the title of its picture. */
const TITLE_LENGTH = 80

/** The margin beyond the longest generation, after which its hold is settled or released, or its process is dead. */
const MARGIN_MS = 30_000

/** The payer: a player, and the application whose token was used, if any. */
export interface Payer {
  playerId: string
  clientId?: string | undefined
  /** The hosted game whose page asks, within what the player allows it. */
  hostedGameId?: string | undefined
}

/** Makes the caller's writes in the transaction that charges. */
type Also = (statements: Statements, generation: Generation) => Promise<void>

/** A generation that may start: all checks have passed, and its highest price is held. */
interface Begun extends Deadline {
  id: string
  holdId: string
  provider: AiProvider
  model: string
  gameId: string | null
  /** Whether it counts towards what the player allows the game. */
  isLimited: boolean
  /** As JSON. */
  schema: string | null
}

/** What a provider made. */
interface Generated {
  result: unknown
  finish: Finish
  outputTokens: number | null
}

/** A provider's text stream whose first piece has arrived. */
interface Answering {
  pieces: ReturnType<AiProvider['streamText']>
  first: Awaited<ReturnType<ReturnType<AiProvider['streamText']>['next']>>
}

/** What is said about a picture that becomes an asset. */
type AboutPicture = Partial<Omit<NewAsset, 'kind' | 'source'>>

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'credits' | 'games' | 'identity' | 'tracing' | 'assets'> & {
  providers: Record<GenerationType, AiProvider>
  schemas: SchemaCheck
  limits: AiLimits
  allowances: Allowances
}

/** Generates content, and charges only for successful generations. */
export class Generations {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Whether a provider for this type is configured. */
  configured(type: GenerationType): boolean {
    return this.models(type).length > 0
  }

  /** Returns the models of a type, the default first. */
  models(type: GenerationType): readonly string[] {
    return this.#parts.providers[type].models[type]
  }

  /** The highest possible cost of a request, in credits. */
  worstPrice(request: GenerateRequest): number {
    const { pricing } = this.#parts.providers[request.type]
    return worstPrice(request, this.#model(request), pricing)
  }

  /**
   * Generates one text, object or image, paid by a player.
   *
   * @param signal ends the generation without a charge
   * @param also writes in the transaction that charges, so that a charged result is never lost
   * @throws InvalidRequest, NotFound for a game that is not the payer's
   * @throws AiNotAllowed, GuestCannotSpend, DailyLimitReached for the page of a hosted game
   * @throws AiNotConfigured, InsufficientCredits, ProviderError (`upstream_error`); nothing is charged then
   */
  async generate(payer: Payer, request: GenerateRequest, signal: AbortSignal, also?: Also): Promise<Generation> {
    const begun = await this.#begin(payer, request, signal)
    try {
      const about = { 'gen_ai.request.model': begun.model, 'gen_ai.output.type': request.type }
      const call = () => this.#call(payer, begun, request)
      const generated = await this.#parts.tracing.span(`ai ${request.type}`, about, call)
      return await this.#complete(payer, request, begun, generated, also)
    } catch (error) {
      throw await this.#giveUp(begun, error)
    } finally {
      begun.end()
    }
  }

  /**
   * Keeps a generated picture as an asset of the player, a private one by default. A second call returns the same asset.
   *
   * @param prompt is its title, in short, unless `about` has one
   * @throws what `Assets.create` throws
   */
  async keep(
    playerId: string,
    { id, result }: Pick<Generation, 'id' | 'result'>,
    { prompt, ...about }: AboutPicture & { prompt: string },
  ): Promise<Asset> {
    const { b64Json, contentType } = result as Picture
    const title = about.title ?? (shortened(visibleText(prompt)) || 'Picture')
    const fields = {
      description: prompt,
      ...about,
      title,
      kind: 'image',
      source: { kind: 'generation', jobId: id },
    } as const
    const body = Readable.from([Buffer.from(b64Json, 'base64')])
    return this.#parts.assets.createFrom(playerId, fields, { name: `picture.${contentType.split('/')[1]}`, body })
  }

  /**
   * Generates a text as a stream: its pieces, and at the end the whole answer. It resolves once the first piece has
   * arrived, so that an earlier error can still be reported with a status.
   */
  async stream(
    payer: Payer,
    request: GenerateRequest,
    signal: AbortSignal,
    also?: Also,
  ): Promise<AsyncGenerator<string, Generation>> {
    const begun = await this.#begin(payer, request, signal)
    const pieces = begun.provider.streamText({ ...request, model: begun.model }, begun.signal)
    try {
      const first = await pieces.next()
      return this.#pieces(payer, request, begun, { pieces, first }, also)
    } catch (error) {
      begun.end()
      throw await this.#giveUp(begun, error)
    }
  }

  async *#pieces(
    payer: Payer,
    request: GenerateRequest,
    begun: Begun,
    { pieces, first }: Answering,
    also?: Also,
  ): AsyncGenerator<string, Generation> {
    let text = ''
    let completed = false
    try {
      let next = first
      while (!next.done) {
        text += next.value
        yield next.value
        next = await pieces.next()
      }
      const answer = await this.#complete(payer, request, begun, { result: text, ...next.value }, also)
      completed = true
      return answer
    } catch (error) {
      completed = true
      throw await this.#giveUp(begun, error)
    } finally {
      // The reader disconnected between two pieces.
      if (!completed) {
        await this.#release(begun)
        await pieces.return?.({ finish: 'complete', outputTokens: null }).catch(() => {})
      }
      begun.end()
    }
  }

  async #begin(payer: Payer, request: GenerateRequest, signal: AbortSignal): Promise<Begun> {
    const { allowances, clock, credits, limits, providers, schemas } = this.#parts
    const { playerId, hostedGameId } = payer
    refuseStrayFields(request)
    const provider = providers[request.type]
    const model = this.#model(request)
    if (hostedGameId !== undefined) await allowances.mustAllow(playerId, hostedGameId)
    const schema = request.schema ? await schemas.compile(playerId, request.schema, signal) : null
    const gameId = await this.#gameOf(payer, request.gameId)
    const now = clock.now()
    const id = newId('gen', now)
    const timeoutMs = limits.aiSeconds * 1000
    const price = worstPrice(request, model, provider.pricing)
    const expiresAt = new Date(now.getTime() + timeoutMs + MARGIN_MS)
    const isLimited = hostedGameId !== undefined && price > 0
    const also = isLimited
      ? (statements: Statements) =>
          allowances.reserve(statements, { id, playerId, gameId: hostedGameId, credits: price, expiresAt })
      : async () => {}
    signal.throwIfAborted()
    const holdId = price === 0 ? '' : await credits.hold(playerId, price, { key: id, expiresAt, also })
    return { id, holdId, provider, model, gameId, isLimited, schema, ...deadline(signal, timeoutMs) }
  }

  async #call(
    { playerId }: Payer,
    { provider, model, schema, signal }: Begun,
    request: GenerateRequest,
  ): Promise<Generated> {
    if (request.type === 'image') {
      const { imageSize = '1K' } = request
      const { bytes, contentType } = await provider.image({ ...request, imageSize, model }, signal)
      const b64Json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
      return { result: { b64Json, contentType }, finish: 'complete', outputTokens: 0 }
    }
    if (request.type === 'text') {
      const { text, ...ended } = await provider.text({ ...request, model }, signal)
      return { result: text, ...ended }
    }
    const { object, outputTokens } = await provider.object({ ...request, model }, signal)
    const { schemas } = this.#parts
    if (schema && !(await schemas.matches(playerId, schema, object, signal))) throw new ProviderError('no-object')
    return { result: object, finish: 'complete', outputTokens }
  }

  /** Charges for a generation. @throws the signal's reason when the client has disconnected in the meantime */
  async #complete(
    { playerId }: Payer,
    request: GenerateRequest,
    { id, holdId, provider, model, gameId, isLimited, signal }: Begun,
    { result, finish, outputTokens }: Generated,
    also?: Also,
  ): Promise<Generation> {
    const { allowances, clock, credits, db } = this.#parts
    signal.throwIfAborted()
    const { type } = request
    const tokens = outputTokens ?? estimateTokens(typeof result === 'string' ? result : JSON.stringify(result))
    const creditsUsed = priceOf(request, model, provider.pricing, tokens)
    const row = { id, playerId, gameId, type, model, credits: creditsUsed, createdAt: clock.now() }
    const generation = ({ available }: Balance) => ({
      id,
      type,
      model,
      result,
      finish,
      creditsUsed,
      balance: available,
    })
    const write = async (statements: Statements, balance: Balance) => {
      await record(statements, row)
      if (isLimited) await allowances.settle(statements, id, creditsUsed)
      await also?.(statements, generation(balance))
    }
    if (holdId !== '') {
      const description = `${TITLES[type]} by ${model}`
      return generation(await credits.settle(holdId, creditsUsed, { description, also: write }))
    }
    const balance = await credits.balance(playerId)
    await db.groupCommit((statements) => write(statements, balance))
    return generation(balance)
  }

  /** Releases the hold. @returns the error for the caller */
  async #giveUp(begun: Begun, error: unknown): Promise<unknown> {
    await this.#release(begun)
    const known = isTimeout(error) ? new ProviderError('late') : error
    if (known instanceof ProviderError) {
      const { reason, status, hint } = known
      this.#parts.log.warn({ generation: begun.id, model: begun.model, reason, status, hint }, 'a generation failed')
    }
    return known
  }

  /** A hold that can't be released now expires. */
  async #release({ holdId, id, isLimited }: Begun): Promise<void> {
    const { allowances, credits, log } = this.#parts
    if (holdId === '') return
    const late = (error: unknown) =>
      log.error({ err: error, generation: id }, 'a hold could not be released; it will expire')
    await credits.release(holdId).catch(late)
    if (isLimited) await allowances.release(id).catch(late)
  }

  #model({ type, model }: GenerateRequest): string {
    const [usual, ...others] = this.models(type)
    if (usual === undefined) throw new AiNotConfigured(`${type}s`)
    if (model === undefined || model === usual) return usual
    if (others.includes(model)) return model
    throw new InvalidRequest(
      `There is no model ${model} for ${type}s; there is ${[usual, ...others].join(', ')}.`,
    ).with({
      details: [{ path: 'model', message: `must be one of ${[usual, ...others].join(', ')}` }],
    })
  }

  /** Returns the game of a generation: that of the page, the player's own, or that of the application of the token. */
  async #gameOf({ playerId, clientId, hostedGameId }: Payer, named: string | undefined): Promise<string | null> {
    if (hostedGameId !== undefined) return hostedGameId
    const { games, identity } = this.#parts
    const lentTo = clientId === undefined ? null : ((await identity.apps.find(clientId))?.gameId ?? null)
    if (named === undefined) return lentTo
    const game = await games.get(named).catch(asUnknown)
    if (game && (game.id === lentTo || games.may(playerId, game, 'make'))) return game.id
    // The game is part of the input, and not what the address is about.
    throw invalidField('gameId', 'must be the id or slug of a game that you make')
  }
}

/** Cuts a prompt for a title between characters, of which an emoji is two for `slice`. */
const shortened = (prompt: string): string => [...prompt].slice(0, TITLE_LENGTH).join('').trim()

/** @throws every other error */
function asUnknown(error: unknown): null {
  if (error instanceof NotFound) return null
  throw error
}

const TITLES: Record<GenerationType, string> = { text: 'Text', object: 'Object', image: 'Image' }

/** Refuses fields that belong to another type (specification, "AI API"). */
function refuseStrayFields(request: GenerateRequest): void {
  const owners = { schema: 'object', aspectRatio: 'image', imageSize: 'image', stream: 'text' } as const
  for (const [field, type] of Object.entries(owners)) {
    const value = request[field as keyof typeof owners]
    if (value === undefined || value === false || request.type === type) continue
    throw new InvalidRequest(`The request body is not valid: ${field} goes with type ${type} only.`).with({
      details: [{ path: field, message: `goes with type ${type} only` }],
    })
  }
}

const isTimeout = (error: unknown) => error instanceof DOMException && error.name === 'TimeoutError'

async function record(
  statements: Statements,
  row: {
    id: string
    playerId: string
    gameId: string | null
    type: string
    model: string
    credits: number
    createdAt: Date
  },
): Promise<void> {
  const { id, playerId, gameId, type, model, credits, createdAt } = row
  await statements.execute(
    `insert into ai_generations (id, player_id, game_id, type, model, credits, date, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
    [id, playerId, gameId, type, model, credits, createdAt.toISOString().slice(0, 10), createdAt],
  )
}

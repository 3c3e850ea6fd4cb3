import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../../../core/database.ts'
import type { JobContext, Jobs } from '../../../core/jobs.ts'
import { type Mail, MailRefused, type Message } from '../../../drivers/mail/interface.ts'
import { hashOf } from '../hash.ts'
import { OneTimeToken } from './entities.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { Players } from './players.ts'

/** What waits to be sent. The nonce alone gives no link away (players/one-time-tokens.ts). */
export type Letter =
  | { kind: 'reset'; nonce: string; email: string }
  | { kind: 'sign-up' | 'verify'; nonce: string }
  | { kind: 'notice'; playerId: string; subject: string; text: string }

interface LettersContext {
  db: Database
  jobs: Jobs
  mail: Mail
  log: FastifyBaseLogger
  players: Players
  tokens: OneTimeTokens
  portalUrl: string
  siteName: string
}

const JOB = 'oauth-idp/letter'
/** How long a link holds. */
export const LINK_MS = 3_600_000

/**
 * The messages with a link. They are written by a background job: whether there is an account of an address is looked
 * up there, so that neither the answer nor its time tells, and a mail server that is away for a while loses nothing.
 */
export class Letters {
  readonly #context: LettersContext

  constructor(context: LettersContext) {
    this.#context = context
    context.jobs.handle<Letter>(JOB, (job) => this.#send(job), { maxAttempts: 8, backoffSeconds: 10 })
  }

  enqueue(em: SqlEntityManager, letter: Letter): Promise<void> {
    return this.#context.jobs.enqueue(em, { name: JOB, payload: letter })
  }

  async #send({ payload }: JobContext<Letter>): Promise<void> {
    const message = await this.#write(payload)
    if (!message) return
    try {
      await this.#context.mail.send(message)
    } catch (error) {
      if (!(error instanceof MailRefused)) throw error
      this.#context.log.warn({ err: error, kind: payload.kind }, 'a message was refused for good')
    }
  }

  #write(letter: Letter): Promise<Message | null> {
    if (letter.kind === 'reset') return this.#writeReset(letter)
    return letter.kind === 'notice' ? this.#writeNotice(letter) : this.#writeConfirmation(letter)
  }

  async #writeNotice({ playerId, subject, text }: Extract<Letter, { kind: 'notice' }>): Promise<Message | null> {
    const player = await this.#context.players.find(playerId)
    return player?.email && !player.disabled ? { to: player.email, subject, text } : null
  }

  async #writeReset({ nonce, email }: Extract<Letter, { kind: 'reset' }>): Promise<Message | null> {
    const { db, players, tokens, siteName } = this.#context
    const player = await players.findByEmail(email)
    if (!player?.email || player.disabled) return null
    await tokens.issue(db.em(), 'reset', { nonce, playerId: player.id, email: player.email, lifeMs: LINK_MS })
    return {
      to: player.email,
      subject: `A new password for ${siteName}`,
      text: `Hello ${player.name},

somebody, hopefully you, asked for a new password for your account on ${siteName}. Open this link to choose one:

${this.#link('reset-password', tokens.tokenOf('reset', nonce))}

It works once, within an hour. If it was not you, do nothing: your password stays as it is.
`,
    }
  }

  async #writeConfirmation({ kind, nonce }: { kind: 'sign-up' | 'verify'; nonce: string }): Promise<Message | null> {
    const { db, players, tokens, siteName, portalUrl } = this.#context
    const token = tokens.tokenOf(kind, nonce)
    const row = await db.em().findOne(OneTimeToken, { tokenHash: hashOf(token), purpose: kind })
    if (!row?.email) return null
    const known = kind === 'sign-up' && (await players.findByEmail(row.email))
    if (known) {
      return {
        to: row.email,
        subject: `You have an account on ${siteName}`,
        text: `Hello ${known.name},

somebody, hopefully you, wanted to make an account on ${siteName} with this email address. There is one already. Sign in:

${portalUrl}/sign-in

If you don't know the password any more, that page leads to a new one. If it was not you, do nothing.
`,
      }
    }
    return {
      to: row.email,
      subject: `Confirm your email address for ${siteName}`,
      text: `Hello,

somebody, hopefully you, gave this email address on ${siteName}. Open this link to confirm that it is yours:

${this.#link(kind === 'sign-up' ? 'confirm' : 'verify-email', token)}

It works once, within an hour. If it was not you, do nothing.
`,
    }
  }

  #link(page: string, token: string): string {
    return `${this.#context.portalUrl}/${page}/${token}`
  }
}

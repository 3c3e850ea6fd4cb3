import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../../../core/data/database.ts'
import type { JobContext, Jobs } from '../../../core/jobs/jobs.ts'
import { type Mail, MailRefused, type Message } from '../../../drivers/mail/interface.ts'
import { hashSecret } from '../secret-hash.ts'
import { describeDisabled } from './disabled-account.ts'
import { OneTimeToken } from './entities.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { Players } from './players.ts'
import type { WayBack } from './way-back.ts'

/** A mail that is waiting to be sent. The nonce alone reveals no link (players/one-time-tokens.ts). */
export type AccountEmail =
  | { kind: 'reset'; nonce: string; email: string; wayBack?: WayBack | undefined }
  | { kind: 'sign-up' | 'verify' | 'new-email'; nonce: string }
  | { kind: 'address-changed'; playerId: string; to: string }
  | { kind: 'disabled'; playerId: string }
  /** `what` signs the player in from now on. */
  | { kind: 'sign-in-added'; playerId: string; what: string }
  /** `portalUrl` is the prefix of the links in the text. The platform may move before the mail is sent. */
  | { kind: 'notice'; playerId: string; subject: string; text: string; portalUrl?: string }
  /** To an address of which nothing is known. */
  | { kind: 'letter'; to: string; subject: string; text: string; portalUrl: string }

interface AccountEmailsContext {
  db: Database
  jobs: Jobs
  mail: Mail
  log: FastifyBaseLogger
  players: Players
  tokens: OneTimeTokens
  portalUrl: string
  siteName: string
  contact: string | null
}

/** The page to which an email's link leads. */
const PAGES = { 'sign-up': 'confirm', verify: 'verify-email', 'new-email': 'new-email' } as const

const REFUSED = 'the mail server refused a message permanently'
const JOB = 'oauth-idp/letter'
/** The lifetime of a link. */
export const LINK_MS = 3_600_000

/**
 * Mails with a link. A background job writes them and looks up the account, so that neither the response nor its timing
 * reveals whether an address has an account, and mail is not lost while the mail server is away.
 */
export class AccountEmails {
  readonly #context: AccountEmailsContext

  constructor(context: AccountEmailsContext) {
    this.#context = context
    context.jobs.handle<AccountEmail>(JOB, (job) => this.#send(job), { maxAttempts: 8, backoffSeconds: 10 })
  }

  enqueue(em: SqlEntityManager, email: AccountEmail): Promise<void> {
    // A player's mails do not wait behind the player's other work, and those to strangers take one turn together.
    const owner = 'playerId' in email ? `mail/${email.playerId}` : 'mail'
    return this.#context.jobs.enqueue(em, { name: JOB, owner, payload: email })
  }

  async #send({ payload }: JobContext<AccountEmail>): Promise<void> {
    const message = await this.#write(payload)
    if (!message) return
    try {
      await this.#context.mail.send(message)
    } catch (error) {
      if (!(error instanceof MailRefused)) throw error
      const known = 'playerId' in payload ? null : await this.#context.players.findByEmail(message.to)
      const playerId = 'playerId' in payload ? payload.playerId : (known?.id ?? null)
      this.#context.log.warn({ err: error, kind: payload.kind, playerId }, REFUSED)
    }
  }

  #write(email: AccountEmail): Promise<Message | null> {
    if (email.kind === 'reset') return this.#writeReset(email)
    if (email.kind === 'address-changed') return this.#writeAddressChanged(email)
    if (email.kind === 'sign-in-added') return this.#writeSignInAdded(email)
    if (email.kind === 'disabled') return this.#writeDisabled(email)
    if (email.kind === 'letter') return Promise.resolve(this.#writeLetter(email))
    return email.kind === 'notice' ? this.#writeNotice(email) : this.#writeConfirmation(email)
  }

  async #writeNotice({
    playerId,
    subject,
    ...email
  }: Extract<AccountEmail, { kind: 'notice' }>): Promise<Message | null> {
    const player = await this.#context.players.find(playerId)
    const text = this.#textOf(email)
    return player?.email && !player.disabled ? { to: player.email, subject, text } : null
  }

  #writeLetter({ to, subject, ...email }: Extract<AccountEmail, { kind: 'letter' }>): Message {
    return { to, subject, text: this.#textOf(email) }
  }

  /** Returns a text with the links of the platform where it is now. */
  #textOf({ text, portalUrl: then }: { text: string; portalUrl?: string }): string {
    const now = this.#context.portalUrl
    return then === undefined || then === now ? text : text.replaceAll(then, now)
  }

  /** Notifies an address that no longer belongs to the account. It warns of possible abuse and names the contact. */
  async #writeAddressChanged({
    playerId,
    to,
  }: Extract<AccountEmail, { kind: 'address-changed' }>): Promise<Message | null> {
    const { players, siteName, portalUrl } = this.#context
    const player = await players.find(playerId)
    if (!player) return null
    return {
      to,
      subject: `Your email address on ${siteName} was changed`,
      text: `Hello ${player.name},

your account on ${siteName} has another email address from now on. This one no longer signs you in.

If it was not you, somebody else is in your account: write to the administrator of ${portalUrl}, who can shut them out.
`,
    }
  }

  /** Tells players of a new way into their account, which a stolen session could have added. */
  async #writeSignInAdded({
    playerId,
    what,
  }: Extract<AccountEmail, { kind: 'sign-in-added' }>): Promise<Message | null> {
    const { players, siteName, portalUrl } = this.#context
    const player = await players.find(playerId)
    if (!player?.email || player.disabled) return null
    return {
      to: player.email,
      subject: `A new way to sign in to ${siteName}`,
      text: `Hello ${player.name},

from now on ${what} signs you in to your account on ${siteName}.

If it was not you, remove it and choose a new password:

${portalUrl}/settings/security
`,
    }
  }

  /** Tells the owner of a disabled account why they can't sign in. */
  async #writeDisabled({ playerId }: { playerId: string }): Promise<Message | null> {
    const { players, siteName } = this.#context
    const player = await players.find(playerId)
    if (!player?.email || !player.disabled) return null
    return {
      to: player.email,
      subject: `Your account on ${siteName} is disabled`,
      text: `Hello ${player.name},

${await describeDisabled(this.#context, playerId)}

Nobody can sign in to it, also with a new password. What belongs to it is kept.
`,
    }
  }

  async #writeReset({ nonce, email, wayBack }: Extract<AccountEmail, { kind: 'reset' }>): Promise<Message | null> {
    const { db, players, tokens, siteName } = this.#context
    const player = await players.findByEmail(email)
    if (!player?.email) return null
    if (player.disabled) return this.#writeDisabled({ playerId: player.id })
    const data = wayBack ? { wayBack } : null
    await tokens.issue(db.em(), 'reset', { nonce, playerId: player.id, email: player.email, data, lifeMs: LINK_MS })
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

  async #writeConfirmation({
    kind,
    nonce,
  }: {
    kind: 'sign-up' | 'verify' | 'new-email'
    nonce: string
  }): Promise<Message | null> {
    const { db, players, tokens, siteName, portalUrl } = this.#context
    const token = tokens.tokenOf(kind, nonce)
    const row = await db.em().findOne(OneTimeToken, { tokenHash: hashSecret(token), purpose: kind })
    if (!row?.email) return null
    const known = kind !== 'verify' && (await players.findByEmail(row.email))
    if (known) {
      return {
        to: row.email,
        subject: `You have an account on ${siteName}`,
        text: `Hello ${known.name},

somebody, hopefully you, wanted to use this email address for an account on ${siteName}. It has one already. Sign in:

${portalUrl}/sign-in

If you have forgotten the password, that page lets you choose a new one. If it was not you, do nothing.
`,
      }
    }
    return {
      to: row.email,
      subject: `Confirm your email address for ${siteName}`,
      text: `Hello,

somebody, hopefully you, gave this email address on ${siteName}. Open this link to confirm that it is yours:

${this.#link(PAGES[kind], token)}

It works once, within an hour. If it was not you, do nothing.
`,
    }
  }

  #link(page: string, token: string): string {
    return `${this.#context.portalUrl}/${page}/${token}`
  }
}

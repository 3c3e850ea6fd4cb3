import type { IncomingHttpHeaders } from 'node:http'
import Type, { type Static } from 'typebox'
import { defineError } from '../../core/errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    payments: Payments
  }
}

/** An amount of credits with a price. */
const Pack = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,39}$', description: 'Lower-case words joined by `-`.' }),
    credits: Type.Integer({ minimum: 1, maximum: 10_000_000 }),
    price: Type.Integer({
      minimum: 1,
      maximum: 99_999_999,
      description:
        'In the smallest unit that the payment processor counts: 500 are 5.00 EUR. `gameyard config check` shows it in words.',
    }),
    currency: Type.String({ pattern: '^[a-z]{3}$', description: 'ISO 4217, in lower case.', examples: ['eur'] }),
  },
  { additionalProperties: false },
)
export type Pack = Static<typeof Pack>

/** The configuration that every processor has. */
export const paymentsConfig = {
  packs: Type.Array(Pack, { default: [], maxItems: 20, description: 'The packs for sale, in the order of the page.' }),
}

/** A purchase before its payment. */
export interface Purchase {
  /** The platform's id, which the processor stores and returns. */
  id: string
  pack: Pack
  /** The address to which the processor redirects the buyer afterwards. */
  successUrl: string
  cancelUrl: string
}

/**
 * A refund or a dispute: a part of a payment that the host does not have any more, or has again.
 *
 * It changes over time, and its states arrive in any order. The one with the highest `sequence` counts.
 */
export interface Reversal {
  /** The processor's id. */
  id: string
  kind: 'refund' | 'dispute'
  /** The reversed amount in the smallest unit of `currency`, which may differ from the purchase's. */
  amount: number
  currency: string
  /** The part of `amount` that the host does not have in this state. */
  withheld: number
  sequence: number
}

/** A verified event of a processor. Each event arrives at least once, in any order. Times are in seconds of Unix time. */
export type PaymentEvent =
  | {
      kind: 'paid'
      /** Id of the event, the same for each delivery. */
      id: string
      /** Id of the purchase; null when the platform did not create it. */
      purchaseId: string | null
      /** Id of the payment, which refunds refer to. */
      paymentId: string
      /** The price before discounts and taxes, in the smallest unit. */
      price: number
      /** The paid amount, in the smallest unit. It is 0 after a discount of 100 %. */
      amount: number
      currency: string
    }
  | {
      kind: 'refunded'
      id: string
      paymentId: string
      /** The total that is refunded at this time, of `amount`. */
      refunded: number
      amount: number
      at: number
    }
  | {
      kind: 'reversed'
      id: string
      paymentId: string
      reversal: Reversal
      /** The time at which the reversal began. */
      madeAt: number
      /** The time of this state. */
      at: number
    }
  | {
      /** An event that may change money, and that the driver does not understand. */
      kind: 'unknown'
      id: string
      /** The processor's name for this kind of event. */
      type: string
    }

/** What a processor says about the host's account. */
export interface PaymentAccount {
  /** Whether nobody really pays. */
  testMode: boolean
  /** The endpoint with the platform's address; null for none, `unknown` when the key may not read it. */
  webhook: { enabled: boolean; missing: string[] } | null | 'unknown'
}

/** A payment processor. The family `payments`. */
export interface Payments {
  /** The packs for sale; empty when nothing is sold. */
  readonly packs: readonly Pack[]
  /** Returns the number of decimals of the processor's amounts in a currency: 2 where 500 are 5.00. */
  decimals(currency: string): number
  /**
   * Creates the page where a purchase is paid, or returns the existing page of the same purchase.
   *
   * @returns the address of the page
   * @throws PaymentsUnavailable
   */
  checkout(purchase: Purchase): Promise<{ url: string }>
  /**
   * Parses a webhook request.
   *
   * @param body as received, byte for byte
   * @returns null for an event that the platform does not use
   * @throws BadSignature unless the payment processor signed it recently
   */
  receive(body: Buffer, headers: IncomingHttpHeaders): Promise<PaymentEvent | null>
  /**
   * Asks the processor about the account and its webhook, for `gameyard doctor`.
   *
   * @param webhookUrl the address to which events should go
   * @throws Error with a sentence for the host when the processor refuses the key or does not answer
   */
  examine?(webhookUrl: string): Promise<PaymentAccount>
  close(): Promise<void>
}

export const BadSignature = defineError('invalid_request', 400, 'This is not signed by the payment processor.')
export const PaymentsUnavailable = defineError(
  'upstream_error',
  502,
  'The payment processor does not answer. Try again.',
)

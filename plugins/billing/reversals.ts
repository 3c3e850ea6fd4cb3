import type { Statements } from '../../core/data/database.ts'

/** A refund or dispute in its latest known state. Times are in seconds of Unix time. */
interface ReversalRow {
  kind: 'refund' | 'dispute'
  amount: number
  currency: string
  withheld: number
  made_at: number
  changed_at: number
}

/** Reads the refunds and disputes of a payment. */
export const readReversals = (statements: Statements, paymentId: string): Promise<ReversalRow[]> =>
  statements.query<ReversalRow>(
    'select kind, amount, currency, withheld, made_at, changed_at from credit_reversals where payment_id = ?',
    [paymentId],
  )

/**
 * Returns the part of a payment that the host does not have any more.
 *
 * The processor reports refunds in two ways, and the host chooses which arrive: one by one, and as the total of a
 * payment. The larger one is right, since each lacks what the host did not choose or what has not arrived yet.
 *
 * @param total the latest reported total, and its time
 * @param paid the payment, in the smallest unit of its currency
 * @returns `withheld` is at most the paid amount
 */
export function withheldOf(
  reversals: readonly ReversalRow[],
  total: { refunded: number; refunded_at: number | null },
  paid: { amount: number; currency: string },
): { withheld: number; disputed: boolean } {
  const refunds = reversals.filter(({ kind }) => kind === 'refund')
  const at = total.refunded_at ?? 0
  // The total of an earlier time still contains a refund that has failed since. A total does not arrive for failures.
  const failedSince = refunds.filter(
    (refund) => refund.withheld === 0 && refund.made_at <= at && refund.changed_at >= at,
  )
  const refunded = Math.max(
    sum(refunds.map(({ withheld }) => withheld)),
    total.refunded - sum(failedSince.map(({ amount }) => amount)),
  )
  const disputes = reversals.filter(({ kind, withheld }) => kind === 'dispute' && withheld > 0)
  // A bank may dispute in a currency of its own; then the share counts.
  const disputed = disputes.map(({ amount, currency, withheld }) =>
    currency === paid.currency ? withheld : Math.round((paid.amount * withheld) / amount),
  )
  return { withheld: Math.min(refunded + sum(disputed), paid.amount), disputed: disputes.length > 0 }
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

// Buying credits.
import { completed, PACK, sign } from '../../kit/stripe.ts'
import type { Cases, World } from './world.ts'

/** A checkout of a new player's, and what tells the balance. */
async function buying(w: World) {
  const player = await w.player()
  const { token } = await w.createToken(['ai:generate'], {}, player)
  const checkout = await w.post('/api/payments/checkout', { cookie: player.cookie, body: { packId: PACK.id } })
  const purchaseId = w.stripe.checkouts.at(-1)?.client_reference_id as string
  return { checkout, purchaseId, credits: async () => (await w.get('/api/ai/credits', { token })).body }
}

const tell = (w: World, body: string, headers: Record<string, string>) =>
  w.post('/api/payments/webhook', { body, headers: { 'content-type': 'application/json', ...headers } })

export const payments: Cases = {
  'AI and payments / POST /api/payments/checkout': async (t, w) => {
    const { checkout } = await buying(w)
    t.match(checkout, { status: 200, body: { url: new RegExp(`^${w.stripe.url}/pay/`) } })
    const body = { packId: PACK.id }
    t.equal((await w.post('/api/payments/checkout', { body })).status, 401, 'a browser session')
    t.equal((await w.post('/api/payments/checkout', { token: await w.token('ai:generate'), body })).status, 403, 'only')
    const { cookie } = await w.owner()
    t.equal((await w.post('/api/payments/checkout', { cookie, body: { packId: 'nothing' } })).status, 400)
  },
  'AI and payments / POST /api/payments/webhook': async (t, w) => {
    const { purchaseId, credits } = await buying(w)
    t.equal((await credits()).balance, 100)
    const event = completed({ id: 'evt_spec', purchaseId, paymentId: 'pi_spec' })
    const now = w.platform.clock.now()
    t.equal((await tell(w, event, {})).status, 400, 'without a signature')
    const forged = sign(event, now, { secret: 'whsec_wrong' })
    t.equal((await tell(w, event, { 'payment-signature': forged })).status, 400, 'with a wrong one')
    t.equal((await credits()).balance, 100)
    const headers = { 'payment-signature': sign(event, now) }
    for (let time = 0; time < 3; time++) t.equal((await tell(w, event, headers)).status, 200)
    const { balance, ledger } = await credits()
    t.equal(balance, 100 + PACK.credits, 'granted, and once an event')
    t.match(ledger[0], { amount: PACK.credits, kind: 'purchase' })
  },
}

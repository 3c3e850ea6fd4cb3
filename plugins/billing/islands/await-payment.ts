/** Polls after a checkout until the processor has confirmed the payment, then reloads the page with the credits. */
const waiting = document.querySelector<HTMLElement>('[data-await-purchase]')

const MOST_TRIES = 90

async function wait(id: string): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    await new Promise((done) => setTimeout(done, tries < 10 ? 500 : 2000))
    const answer = await fetch(`/api/payments/purchases/${encodeURIComponent(id)}`).catch(() => null)
    const purchase: { paid: boolean } | null = answer?.ok ? await answer.json() : null
    if (purchase?.paid) return location.reload()
  }
}

if (waiting?.dataset.awaitPurchase) void wait(waiting.dataset.awaitPurchase)

/** Polls until there is a result. */
export async function until<T>(ask: () => Promise<T | null | undefined | false>, seconds = 60): Promise<T> {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const found = await ask()
    if (found) return found
    if (Date.now() > deadline) throw new Error(`Nothing happened within ${seconds} s.`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

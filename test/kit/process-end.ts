type Ending = () => unknown

const endings: Ending[] = []
let inWorker = false

/** Called by the test runner's worker, which runs many files and says itself when its process comes to its end. */
export function runsInWorker(): void {
  inWorker = true
}

/** Has something done when this process has run its last test: what its files share is taken down then. */
export async function atProcessEnd(ending: Ending): Promise<void> {
  if (inWorker) endings.push(ending)
  else (await import('tap')).default.teardown(ending as () => void)
}

/** By the worker, behind its last file. What was set up last goes first. */
export async function runWorkerEnd(): Promise<void> {
  for (const ending of endings.splice(0).reverse())
    await Promise.resolve()
      .then(ending)
      .catch((error) => console.error(error))
}

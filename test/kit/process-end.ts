type Ending = () => unknown

const endings: Ending[] = []
let inWorker = false

/** Called by the test runner's worker, which runs many files and signals the end of its process itself. */
export function runsInWorker(): void {
  inWorker = true
}

/** Registers a function that runs after the last test of this process, to tear down what its files share. */
export async function atProcessEnd(ending: Ending): Promise<void> {
  if (inWorker) endings.push(ending)
  else (await import('tap')).default.teardown(ending as () => void)
}

/** Runs the registered functions in reverse order. The worker calls this after its last file. */
export async function runWorkerEnd(): Promise<void> {
  for (const ending of endings.splice(0).reverse())
    await Promise.resolve()
      .then(ending)
      .catch((error) => console.error(error))
}

// The worker thread program that matches the paths of an archive against the patterns of its `.gameyardignore`. Each
// answer has one byte a path: 1 for a path that is left out.
import { parentPort } from 'node:worker_threads'
import ignore from 'ignore'

parentPort?.on('message', ({ rules, paths }: { rules: string; paths: string[] }) => {
  const listed = ignore().add(rules)
  parentPort?.postMessage(Uint8Array.from(paths, (path) => (listed.ignores(path) ? 1 : 0)))
})

// `npm run check`: types, format and lint, unused code, and words. It runs all in parallel, and shows the output of
// those that fail.
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const CHECKS = {
  // Each checker repeats some work of the others. More than two bring no gain on a small machine.
  types: ['../typescript/lib/tsc.js', '--pretty', 'false', '--checkers', '2'],
  'format and lint': ['biome', 'check', '--error-on-warnings', '--max-diagnostics=100'],
  'unused code': ['knip', '--no-progress'],
  words: ['../../build/lint-prose.mjs'],
}

// The SDK's types are generated and not in the repository.
spawnSync('node_modules/.bin/node', ['build/openapi-types.ts', '--if-stale'], { cwd: root, stdio: 'inherit' })
const results = await Promise.all(Object.entries(CHECKS).map(([name, command]) => check(name, command)))
for (const { name, output } of results.filter(({ ok }) => !ok)) console.log(`\n--- ${name}\n${output.trim()}`)
console.log()
for (const { name, ok, seconds } of results) console.log(`${ok ? 'ok    ' : 'FAILED'}  ${name} (${seconds} s)`)
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1

function check(name, [tool, ...options]) {
  const started = Date.now()
  return new Promise((resolve) => {
    const child = spawn('node_modules/.bin/node', [`node_modules/.bin/${tool}`, ...options], { cwd: root })
    let output = ''
    const finish = (ok) => resolve({ name, ok, output, seconds: ((Date.now() - started) / 1000).toFixed(1) })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('error', (error) => {
      output += error.message
      finish(false)
    })
    child.on('close', (code) => finish(code === 0))
  })
}

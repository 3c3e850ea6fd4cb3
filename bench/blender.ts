// `npx node bench/blender.ts`: the time that the platform adds to a job, from POST to the event that reports its end,
// compared with `blender -b` run by hand on the same files without a sandbox. The two run in turns, RUNS of each. Then
// it measures the time of a claim at 100 and at FINISHED finished jobs.
import { execFileSync, fork, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { blenderArguments } from '../drivers/blender/run.ts'
import { harnessFiles } from '../plugins/blender/worker/harness-files.ts'
import { makeToken } from '../test/kit/remote-sign-up.ts'
import { freePort } from '../test/kit/server.ts'

const RUNS = Number(process.env.RUNS ?? 7)
const FINISHED = Number(process.env.FINISHED ?? 100_000)
const THREADS = 2
const root = resolve(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))

const JOB = {
  name: 'A chest',
  template: 'prop',
  parameters: { kind: 'chest', size: 2 },
  script: "job.blob('gem', 0.2, job.material('red', '#c02040'), (0, 0, 1.6))",
}

async function startServer() {
  const port = await freePort()
  const yaml = `listen: { port: ${port} }
limits: { rateLimits: false }
log: { level: warn }
blender: { threads: ${THREADS} }
`
  writeFileSync(join(folder, 'gameyard.yaml'), yaml)
  const server = fork(join(root, 'bin/gameyard.js'), ['serve'], { cwd: folder, stdio: 'ignore' })
  const portal = `http://localhost:${port}`
  for (let tries = 0; !(await fetch(`${portal}/readyz`).catch(() => null))?.ok; tries++) {
    if (tries > 300) throw new Error('The server did not come up.')
    await sleep(100)
  }
  return { server, portal }
}

/** Runs one job to its end through the API, as a client does. @returns ms, and the job's request to the harness */
async function throughPlatform(portal: string, token: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const jobs = `${portal}/api/blender/v1/jobs`
  const started = performance.now()
  const answer = await fetch(jobs, { method: 'POST', headers, body: JSON.stringify(JOB) })
  const { id } = (await answer.json()) as { id: string }
  const events = await fetch(`${jobs}/${id}/events`, { headers })
  const text = await events.text()
  const ms = performance.now() - started
  const last = text
    .trim()
    .split('\n')
    .findLast((line) => line.startsWith('data: '))
  const job = JSON.parse(last?.slice(6) ?? '{}')
  if (job.status !== 'completed') throw new Error(`The job ended so: ${last}`)
  return { ms, job }
}

/** Runs Blender alone on the same files. */
function byHand(job: { parameters: object; faceLimit: number }): number {
  const work = mkdtempSync(join(folder, 'hand-'))
  const [input, output] = [join(work, 'in'), join(work, 'out')]
  mkdirSync(output)
  for (const { path, content } of harnessFiles()) {
    mkdirSync(dirname(join(input, path)), { recursive: true })
    writeFileSync(join(input, path), content as string)
  }
  const { template, script } = JOB
  const request = {
    action: 'create',
    template,
    parameters: job.parameters,
    starterAssets: [],
    faceLimit: job.faceLimit,
    sourceJobId: null,
    script,
    previewSize: 512,
    previewSamples: 16,
  }
  writeFileSync(join(input, 'request.json'), JSON.stringify(request))
  const started = performance.now()
  execFileSync('blender', [...blenderArguments(THREADS), join(input, 'harness/main.py'), '--', input, output], {
    stdio: 'ignore',
  })
  const ms = performance.now() - started
  rmSync(work, { recursive: true, force: true })
  return ms
}

const sorted = (values: number[]) => [...values].sort((a, b) => a - b)
const row = (label: string, values: number[]) => {
  const all = sorted(values)
  const [median, low, high] = [all[all.length >> 1], all[0], all.at(-1)].map((value) => Math.round(value ?? 0))
  return `| ${label} | ${median} | ${low}–${high} |`
}

const { server, portal } = await startServer()
try {
  const token = await makeToken(portal, ['assets:read', 'assets:generate'])
  const { job } = await throughPlatform(portal, token) // This loads Blender into the page cache.
  byHand(job)
  const [ours, hand]: [number[], number[]] = [[], []]
  for (let run = 0; run < RUNS; run++) {
    ours.push((await throughPlatform(portal, token)).ms)
    hand.push(byHand(job))
  }
  const added = sorted(ours.map((ms, run) => ms - (hand[run] as number)))[RUNS >> 1] as number
  const share = (100 * added) / (sorted(hand)[RUNS >> 1] as number)
  console.log(
    `Node ${process.version}, ${cpus()[0]?.model} × ${cpus().length}, ${release()}, load ${loadavg()[0]?.toFixed(1)}`,
  )
  console.log(`| ${RUNS} runs each | ms, median | min–max |\n| --- | ---: | ---: |`)
  console.log(row('`blender -b` by hand', hand))
  console.log(row('a job, from POST to the event of its end', ours))
  console.log(`added by the platform: ${Math.round(added)} ms (median of the pairs), ${share.toFixed(1)} %`)
} finally {
  server.kill('SIGTERM')
  await sleep(500)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

const claims = spawnSync(process.execPath, ['test/plugins/blender/queue.test.ts'], {
  cwd: root,
  env: { ...process.env, GAMEYARD_FINISHED_JOBS: String(FINISHED) },
  encoding: 'utf8',
})
console.log(/median of a claim: .*/.exec(claims.stdout)?.[0] ?? claims.stdout)

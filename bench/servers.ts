// Shared by the benchmarks that compare our server with others. Each server runs on one core, and the load on another.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../test/kit/upload.ts'

/** A server under load. */
export interface Subject {
  name: string
  port: number
  host: string
  pid: number
}

const started: ChildProcess[] = []

/** Starts a server on the first core and waits until it answers. */
export async function start(command: string, args: string[], { port, cwd }: { port: number; cwd: string }) {
  const env = { PATH: process.env.PATH, NODE_ENV: 'production', PORT: String(port) }
  const child = spawn('taskset', ['-c', '0', command, ...args], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
  started.push(child)
  for (let tries = 0; tries < 1000; tries++) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`)
    if (await ask('GET', `http://127.0.0.1:${port}/`).catch(() => null)) return child.pid as number
    await sleep(20)
  }
  throw new Error(`${command} does not answer`)
}

/** Stops all started servers. */
export async function stopAll(): Promise<void> {
  for (const child of started) child.kill('SIGTERM')
  await Promise.all(started.map((child) => child.exitCode ?? new Promise((done) => child.once('exit', done))))
}

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']).toString())

/** Returns the CPU seconds of a process and its children. */
export function processorSeconds(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number) as [number, number]
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return (user + system) / TICKS + children.reduce((sum, child) => sum + processorSeconds(Number(child)), 0)
}

/**
 * Requests one address as often as possible, from the second core. A status other than 2xx or 3xx fails the run.
 *
 * @returns requests per second, and requests per second of the server's CPU time
 */
export function load(
  { name, host, port, pid }: Subject,
  {
    path,
    connections,
    seconds,
    headers = [],
  }: { path: string; connections: number; seconds: number; headers?: string[] },
) {
  const all = [`Host: ${host}`, ...headers].flatMap((one) => ['-H', one])
  const args = [
    '-c',
    '1',
    'wrk',
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    ...all,
    `http://127.0.0.1:${port}${path}`,
  ]
  const before = processorSeconds(pid)
  const output = execFileSync('taskset', args).toString()
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(`${name} ${path}:\n${output}`)
  const requests = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])
  const total = Number(/(\d+) requests in/.exec(output)?.[1])
  return { requests, perSecond: total / (processorSeconds(pid) - before) }
}

/** The common nginx configuration of all benchmarks: one worker, sendfile, cached open files. */
export const nginxConfig = (folder: string, server: string) => `daemon off; worker_processes 1; pid ${folder}/pid;
  error_log stderr crit; ${process.getuid?.() === 0 ? 'user root;' : ''}
  events { worker_connections 1024; }
  http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; etag on;
    open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s;
    include /etc/nginx/mime.types; default_type application/octet-stream;
    client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
    uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
    ${server} }`

export const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

/** Describes the day, program and machine for the heading of a table. */
export const machine = () =>
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus()[0]?.model} × ${cpus().length}, ${release()}, load average ${loadavg()[0]?.toFixed(1)}`

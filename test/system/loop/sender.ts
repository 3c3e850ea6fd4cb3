// A client in a process of its own: it makes the inputs of a route and sends them one at a time, when it is told to.
// Beside each, another client asks whether the platform is alive.
import { Agent, request } from 'node:http'
import { type Input, inputsOf, type Target } from './inputs.ts'

/** Tells the sender what to do. */
export type Order = { target: Target; port: number; host: string; headers: Record<string, string> } | 'send' | 'next'

/** Tells what the sender has done. */
export type Report = { ready: string; bytes: number } | { status: number; alive: number } | 'done'

const other = new Agent({ keepAlive: true })
let inputs: Iterator<Input> | null = null
let input: Input | null = null
let at: Exclude<Order, string> | null = null

const tell = (report: Report) => process.send?.(report)

function ask(options: { method: string; path: string; headers: Record<string, string>; agent?: Agent }, body?: Buffer) {
  return new Promise<number>((resolve, reject) => {
    const { port } = at as Exclude<Order, string>
    const sent = request({ host: '127.0.0.1', port, ...options }, (response) => {
      resolve(response.statusCode ?? 0)
      // A stream of events has no end.
      if (/event-stream/.test(response.headers['content-type'] ?? '')) response.destroy()
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    let hasAnswer = false
    sent.on('response', () => {
      hasAnswer = true
    })
    // A body that is too long is answered, and its connection closed, while it is still being sent.
    sent.on('error', (error) => (hasAnswer ? null : reject(error)))
    sent.end(body)
  })
}

function next(): void {
  const { value, done } = (inputs as Iterator<Input>).next()
  input = done ? null : value
  tell(input ? { ready: input.name, bytes: input.body?.length ?? 0 } : 'done')
}

async function send(): Promise<void> {
  const { target, host, headers } = at as Exclude<Order, string>
  const { url, headers: own, body } = input as Input
  const length = body ? { 'content-length': String(body.length) } : {}
  const attack = ask({ method: target.method, path: url, headers: { host, ...headers, ...own, ...length } }, body)
  const alive = ask({ method: 'GET', path: '/healthz', headers: { host }, agent: other })
  const [status, health] = await Promise.all([attack.catch(() => 0), alive.catch(() => 0)])
  tell({ status, alive: health })
}

process.on('message', (order: Order) => {
  if (order === 'next') return next()
  if (order === 'send') return void send()
  at = order
  inputs = inputsOf(order.target)
  next()
})

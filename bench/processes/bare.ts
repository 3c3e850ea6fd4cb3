// `npx node bench/processes/bare.ts PORT COUNT`: so many processes with a bare `node:http` server each on one port, for
// bench/processes.ts: what this machine leaves of a second process when the load shares its cores.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'

const [port, count] = process.argv.slice(2).map(Number) as [number, number]
const body = Buffer.alloc(2048, 32)
if (count === 1) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': body.length })
    response.end(body)
  })
  server.listen({ port, host: '127.0.0.1', reusePort: true })
} else {
  const args = [import.meta.filename, String(port), '1']
  const children = Array.from({ length: count }, () => spawn(process.execPath, args, { stdio: 'ignore' }))
  process.on('SIGTERM', () => {
    for (const child of children) child.kill('SIGTERM')
    process.exit(0)
  })
}

/**
 * A program for Node without dependencies that deploys a folder, for people to copy. It uses the plain HTTP API, so it
 * also serves as a model for other languages.
 */
export const deployScript = (portal: string, gameId: string): string => `import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

const folder = process.argv[2]
const portal = '${portal}'

const files = []
for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue
  const file = join(entry.parentPath, entry.name)
  if (/(^|[\\\\/])(\\.git|node_modules|\\.env[^\\\\/]*)([\\\\/]|$)/.test(relative(folder, file))) continue
  const bytes = await readFile(file)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  files.push({ path: relative(folder, file).split(sep).join('/'), size: bytes.length, sha256 })
}

const { deployId, uploads } = await post('/api/deploy', { gameId: '${gameId}', files })
for (const { path, uploadUrl, method, headers } of uploads) {
  await sent(fetch(uploadUrl, { method, headers, body: await readFile(join(folder, path)) }))
}
console.log((await post(\`/api/deploy/\${deployId}/finalize\`)).playUrl)

async function post(path, body = {}) {
  const headers = {
    authorization: \`Bearer \${process.env.SERVICE_API_TOKEN}\`,
    'content-type': 'application/json',
  }
  return (await sent(fetch(portal + path, { method: 'POST', headers, body: JSON.stringify(body) }))).json()
}

async function sent(request) {
  const answer = await request
  if (!answer.ok) throw new Error(await answer.text())
  return answer
}
`

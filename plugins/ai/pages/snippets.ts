import type { GenerateRequest } from '../schemas.ts'

/** Returns the request of a game, without default values. */
export function bodyOf(request: GenerateRequest): Record<string, unknown> {
  const { maxOutputTokens, ...rest } = request
  const body = { ...rest, ...(maxOutputTokens === 4096 || rest.type === 'image' ? {} : { maxOutputTokens }) }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

/** Returns the same request as a curl command. */
export function curlOf(portal: string, request: GenerateRequest): string {
  const body = JSON.stringify(bodyOf(request), null, 2).replaceAll("'", "'\\''")
  return `curl ${portal}/api/ai/generate \\
  -H "Authorization: Bearer $SERVICE_API_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`
}

const FUNCTIONS = { text: 'generateText', object: 'generateObject', image: 'generateImage' } as const

/** Returns the same request as SDK code. */
export function sdkOf(portal: string, request: GenerateRequest): string {
  const { type, ...body } = bodyOf(request) as { type: GenerateRequest['type'] }
  const options = JSON.stringify(body, null, 2).replace(/^(\s+)"(\w+)":/gm, '$1$2:')
  return `// npm install ${portal}/download/gameyard-sdk.tgz
import { createClient } from '@gameyard/sdk'

const client = createClient({ baseUrl: '${portal}', token: process.env.SERVICE_API_TOKEN })
const { result, creditsUsed, balance } = await client.${FUNCTIONS[type]}(${options})`
}

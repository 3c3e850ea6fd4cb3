import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Test } from 'tap'
import type { Platform } from '../../kit/platform.ts'

/** The two revisions of the protocol that clients speak: with a handshake, and without. */
export type Era = '2025' | '2026'

/** The answer of a tool: its JSON, whether it is a refusal, and its pictures. */
export interface ToolAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: each tool has its own answer; tests match its shape
  json: any
  refused: boolean
  pictures: { data: string; mimeType: string }[]
}

/** The official client, connected to a listening platform with a token. It closes with the test. */
export async function connect(
  t: Test,
  { portal }: Pick<Platform, 'portal'>,
  token: string,
  { era = '2026', ask }: { era?: Era; ask?: (question: string) => boolean } = {},
) {
  const client = new Client(
    { name: 'test-assistant', version: '1.0.0' },
    {
      capabilities: ask ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: era === '2026' ? 'auto' : 'legacy' },
    },
  )
  const questions: string[] = []
  if (ask) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(params.message)
      return ask(params.message) ? { action: 'accept', content: { confirm: true } } : { action: 'decline' }
    })
  }
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', portal), { requestInit: { headers } }))
  t.teardown(() => client.close())
  return { client, questions, call: (name: string, args: Record<string, unknown> = {}) => callTool(client, name, args) }
}

export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
  const { content, isError = false } = await client.callTool({ name, arguments: args })
  const parts = content as { type: string; text?: string; data?: string; mimeType?: string }[]
  const text = parts.find(({ type }) => type === 'text')?.text ?? 'null'
  return {
    json: /^[[{]/.test(text) ? JSON.parse(text) : text,
    refused: isError,
    pictures: parts.filter(({ type }) => type === 'image') as ToolAnswer['pictures'],
  }
}

import { type JSONRPCMessage, Server, type ServerContext } from '@modelcontextprotocol/server'
import type { FastifyInstance } from 'fastify'
import { type Caller, callTool } from './call-tool.ts'
import { type OpenCalls, type Sender, showsForms } from './open-calls.ts'
import { describePrompt, getPrompt, PROMPTS } from './prompts.ts'
import { listResources, readResource, TEMPLATES } from './resources.ts'
import type { RegisteredTool } from './tool-table.ts'

/** The name and version of this server. */
export const identityOf = ({
  site,
  programVersion,
  origins,
}: Pick<FastifyInstance, 'site' | 'programVersion' | 'origins'>) => ({
  name: 'gameyard',
  title: site.name,
  version: programVersion,
  websiteUrl: origins.portal,
})

/** What assistants read before anything else. */
const instructions = (portal: string): string =>
  `Gameyard at ${portal} hosts browser games: sign-in, deploys, rooms for several players, saves, leaderboards, AI, 3D assets and Blender. A game is static files with an index.html; it needs no server of its own. Begin with game_create or games_list, publish with deploy_files, and look things up with docs_search before you guess.`

/**
 * Creates the server of one request. The protocol part is the SDK's; `Server` rather than `McpServer`, because the
 * tools are resolved once, and registering them for each request would cost more than most calls.
 */
export function createServer(
  caller: Caller,
  tools: ReadonlyMap<string, RegisteredTool>,
  { openCalls, sender }: { openCalls: OpenCalls; sender: Sender | null },
): Server {
  const { app } = caller
  const server = new Server(identityOf(app), {
    capabilities: { tools: {}, resources: {}, prompts: {} },
    instructions: instructions(app.origins.portal),
  })
  server.setRequestHandler('tools/list', () => ({ tools: [...tools.values()].map(listed) }))
  server.setRequestHandler('tools/call', ({ params }, context: ServerContext) => {
    const { id, signal } = context.mcpReq
    // The question goes to the client on the stream of its call, and the answer comes by a request of its own.
    const send = (message: JSONRPCMessage) =>
      server.transport?.send(message, { relatedRequestId: id }) ?? Promise.resolve()
    const confirm: NonNullable<Caller['confirm']> = (question) =>
      openCalls.ask(
        sender as Sender,
        (questionId) => send({ jsonrpc: '2.0', id: questionId, method: 'elicitation/create', params: { ...question } }),
        signal,
      )
    const asking = sender && showsForms(sender) ? { ...caller, confirm } : caller
    return callTool(asking, tools.get(params.name), params.arguments, context)
  })
  server.setRequestHandler('resources/list', () => listResources(caller))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: TEMPLATES }))
  server.setRequestHandler('resources/read', ({ params }) => readResource(caller, params.uri))
  server.setRequestHandler('prompts/list', () => ({ prompts: PROMPTS.map(describePrompt) }))
  server.setRequestHandler('prompts/get', ({ params }) => getPrompt(caller, params.name, params.arguments ?? {}))
  return server
}

const listed = ({ name, title, description, schema, effect, repeatable = false }: RegisteredTool) => ({
  name,
  title,
  description,
  inputSchema: schema as never,
  annotations: {
    title,
    readOnlyHint: effect === 'reads',
    destructiveHint: effect === 'replaces',
    idempotentHint: repeatable || effect === 'reads',
    openWorldHint: false,
  },
})

import { NotFound } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'
import { registeredTools } from './tool-table.ts'

/** `/llms.txt` (llmstxt.org): what a language model that visits the portal should read, in a page of Markdown. */
export const llmsRoutes: Routes = async (app) => {
  const { portal } = app.origins
  let text: Promise<string> | undefined
  const write = async () => {
    const groups = await app.guides.groups()
    const guides = groups.map(
      ({ title, guides }) =>
        `## ${title}\n\n${guides.map((guide) => `- [${guide.title}](${portal}/docs/${guide.name}.md): ${guide.summary}`).join('\n')}`,
    )
    const tools = [...registeredTools(app.routeTable).values()].map(
      ({ name, description }) => `- \`${name}\`: ${description}`,
    )
    return `# ${app.site.name}

> A platform that hosts browser games: sign-in, deploys, rooms for several players, saves, leaderboards, AI paid with
> credits, 3D assets and Blender jobs. A game is static files with an index.html, and needs no server of its own.

Connect a coding assistant by the Model Context Protocol at ${portal}/mcp (Streamable HTTP; OAuth or an API token), or
with \`gameyard mcp\`. The HTTP API is described at ${portal}/openapi.json.

${guides.join('\n\n')}

## Tools for assistants

${tools.join('\n')}
`
  }

  app.get(
    '/llms.txt',
    { config: { auth: 'none' }, constraints: { origin: 'portal' }, schema: { hide: true } },
    async (_request, reply) => {
      text ??= write().catch((error) => {
        text = undefined
        throw error
      })
      return reply
        .header('cache-control', 'public, max-age=3600')
        .type('text/plain; charset=utf-8')
        .send(await text)
    },
  )

  app.get(
    '/docs/:file(^[a-z0-9-]+\\.md$)',
    { config: { auth: 'none' }, constraints: { origin: 'portal' }, schema: { hide: true } },
    async (request, reply) => {
      const { file } = request.params as { file: string }
      const markdown = await app.guides.markdown(file.slice(0, -'.md'.length))
      if (markdown === null) throw new NotFound('guide')
      return reply.header('cache-control', 'public, max-age=3600').type('text/markdown; charset=utf-8').send(markdown)
    },
  )
}

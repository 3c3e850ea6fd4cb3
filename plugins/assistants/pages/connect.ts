import type { FastifyInstance } from 'fastify'
import { Button, CodeBlock, html, Row, Section, type View } from '../../../core/pages/index.ts'

/** Shows how a coding assistant is connected: links for editors, a line for terminals, and the configuration of others. */
export function connectSection({ origins, site }: Pick<FastifyInstance, 'origins' | 'site'>): View {
  const url = `${origins.portal}/mcp`
  const name = nameOf(site.name)
  const others = JSON.stringify({ mcpServers: { [name]: { type: 'http', url } } }, null, 2)
  return html`
    <${Section} title="Connect a coding assistant"
      description="It makes and publishes games for you, within what you allow. You sign in on this site; the assistant never sees your password.">
      <${Row}>
        <${Button} href=${cursorLink(name, url)}>Add to Cursor<//>
        <${Button} href=${vscodeLink(name, url)}>Add to VS Code<//>
      <//>
      <${CodeBlock} title="Claude Code" code=${`claude mcp add --transport http ${name} ${url}`} />
      <${CodeBlock} title="Codex" code=${`codex mcp add ${name} --url ${url}`} />
      <${CodeBlock} title="Gemini CLI" code=${`gemini mcp add --transport http ${name} ${url}`} />
      <${CodeBlock} title="Others" code=${others} />
      <p><a href="/docs/assistants">What assistants can do, and how to connect without a browser</a></p>
    <//>`
}

/** The name of the server in an assistant's configuration: letters, digits and hyphens. */
export const nameOf = (siteName: string): string =>
  siteName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40) || 'gameyard'

const cursorLink = (name: string, url: string): string => {
  const config = Buffer.from(JSON.stringify({ url })).toString('base64')
  return `cursor://anysphere.cursor-deeplink/mcp/install?${new URLSearchParams({ name, config })}`
}

const vscodeLink = (name: string, url: string): string =>
  `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name, type: 'http', url }))}`

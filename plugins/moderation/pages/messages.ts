import { callerOf } from '../../../core/http/auth.ts'
import { isPrefetch } from '../../../core/http/headers.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Card,
  type Content,
  EmptyState,
  html,
  renderPage,
  Stack,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { receivedInvitations } from '../../games/index.ts'
import { SettingsHeader } from '../../oauth-idp/index.ts'

/** /settings/messages: invitations to games, what the staff wrote to the player, news of games and domains, and what came of reports. */
export const messagePages: Routes = async (app) => {
  app.get(
    '/settings/messages',
    { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      // What comes while the page is read stays new.
      const isSeen = request.method === 'GET' && !isPrefetch(request.headers) && !app.writeGate.closed
      if (viewer?.unread && isSeen) await app.identity.unread.see(playerId)
      const [messages, invitations] = await Promise.all([
        app.moderation.messages.of(playerId),
        app.games.memberInvitations.receivedBy(playerId),
      ])
      reply.header('cache-control', 'no-store')
      return renderPage(reply, {
        title: 'Messages',
        user: viewer && { ...viewer, unread: 0 },
        body: html`<${SettingsHeader} entries=${app.identity.settings} current="/settings/messages" />
          ${receivedInvitations(invitations)}${(messages.length > 0 || invitations.length === 0) && list(messages, app.origins.portal)}`,
      })
    },
  )
}

const list = (messages: { subject: string; text: string; at: string }[], portal: string): View =>
  messages.length === 0
    ? html`<${EmptyState} title="No messages">What the people who look after this platform write to you stands here, with invitations to games, and news of their owners and domains.<//>`
    : html`<${Stack}>${messages.map(
        ({ subject, text, at }) => html`<${Card} title=${subject} description=${html`<${Timestamp} at=${at} />`}>
          <p class="message"><bdi>${linked(text, portal)}</bdi></p>
        <//>`,
      )}<//>`

/** Renders the addresses of this portal in a text as links. Others stay text: they may be somebody else's. */
function linked(text: string, portal: string): Content {
  const addresses = new RegExp(`(${RegExp.escape(portal)}/[^\\s<>"]*[^\\s<>".,;:!?])`)
  return text.split(addresses).map((part, index) => (index % 2 === 1 ? html`<a href=${part}>${part}</a>` : part))
}

import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { Card, EmptyState, html, renderPage, Stack, Timestamp, type View } from '../../../core/pages/index.ts'
import { receivedInvitations } from '../../games/index.ts'
import { SettingsHeader } from '../../oauth-idp/index.ts'

/** /settings/messages: invitations to games, what the staff wrote to the player, new owners, and what came of reports. */
export const messagePages: Routes = async (app) => {
  app.get(
    '/settings/messages',
    { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const [messages, invitations] = await Promise.all([
        app.moderation.messages.of(playerId),
        app.games.memberInvitations.receivedBy(playerId),
      ])
      reply.header('cache-control', 'no-store')
      return renderPage(reply, {
        title: 'Messages',
        current: '/settings',
        user: viewer,
        body: html`<${SettingsHeader} entries=${app.identity.settings} current="/settings/messages" />
          ${receivedInvitations(invitations)}${(messages.length > 0 || invitations.length === 0) && list(messages)}`,
      })
    },
  )
}

const list = (messages: { subject: string; text: string; at: string }[]): View =>
  messages.length === 0
    ? html`<${EmptyState} title="No messages">What the people who look after this platform write to you stands here, with invitations to games and news of their owners.<//>`
    : html`<${Stack}>${messages.map(
        ({ subject, text, at }) => html`<${Card} title=${subject} description=${html`<${Timestamp} at=${at} />`}>
          <p class="message"><bdi>${text}</bdi></p>
        <//>`,
      )}<//>`

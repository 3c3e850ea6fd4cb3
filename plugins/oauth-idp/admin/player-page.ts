import {
  Avatar,
  Button,
  Card,
  Confirm,
  Facts,
  html,
  PageHeader,
  Section,
  type View,
  When,
} from '../../../core/pages.ts'
import type { ManagedPlayer } from './administration.ts'
import { pathOf, State } from './players-page.ts'

export function PlayerPage({ player, isMe }: { player: ManagedPlayer; isMe: boolean }): View {
  const { id, name, email, emailVerified, imageUrl, createdAt, disabled, isAdmin, isGuest } = player
  const post = (step: string) => `/admin/players/${id}/${step}`
  return html`
    <${PageHeader} title=${name} crumbs=${[{ label: 'Players', href: '/admin/players' }]}
      chips=${html`<${State} player=${player} />`} />
    <${Section} layout="side" title="Who this is" description=${html`<${Avatar} name=${name} imageUrl=${pathOf(imageUrl)} size="l" />`}>
      <${Card}>
        <${Facts} items=${[
          { term: 'Email', detail: email ? `${email}${emailVerified ? '' : ' (not verified)'}` : 'none' },
          { term: 'Player id', detail: html`<code>${id}</code>` },
          { term: 'Here since', detail: html`<${When} at=${createdAt} />` },
        ]} />
      <//>
    <//>
    ${
      isMe
        ? html`<${Section} layout="side" title="This is you" description="Your own account is in the settings.">
            <${Card}><div class="row"><${Button} href="/settings">Settings<//></div><//>
          <//>`
        : html`
            <${Section} layout="side" title="Access" description="Takes effect at once, in games too.">
              <${Card}>
                <div class="row">
                  <form action=${post(disabled ? 'enable' : 'disable')} method="post"><${Button}>${disabled ? 'Let in again' : 'Disable'}<//></form>
                  <form action=${post('sign-out')} method="post"><${Button}>Sign out everywhere<//></form>
                </div>
              <//>
            <//>
            ${
              !isGuest &&
              html`<${Section} layout="side" title="Rights" description="Administrators see every player and look after this server.">
                <${Card}><form class="row" action=${post(isAdmin ? 'demote' : 'promote')} method="post">
                  <${Button}>${isAdmin ? 'Take the rights back' : 'Make an administrator'}<//></form><//>
              <//>`
            }
            <${Section} layout="side" title="Delete" description="For good: the account, its sessions, tokens and picture.">
              <${Card}><${Confirm} label="Delete player" action=${post('delete')} submit=${`Delete ${name}`}>
                <p>This can't be undone. Disabling keeps the account and shuts its player out.</p>
              <//><//>
            <//>`
    }`
}

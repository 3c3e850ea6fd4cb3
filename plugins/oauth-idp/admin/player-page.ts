import {
  Avatar,
  Button,
  Card,
  Checkbox,
  Confirm,
  DescriptionList,
  Field,
  html,
  Notice,
  PageHeader,
  Section,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { ManagedPlayer } from './administration.ts'
import { pathOf, State } from './players-page.ts'

interface PlayerPageProps {
  player: ManagedPlayer
  isMe: boolean
  /** Why nothing was deleted. */
  problem?: string | undefined
}

export function PlayerPage({ player, isMe, problem }: PlayerPageProps): View {
  const { id, name, email, emailVerified, imageUrl, createdAt, disabled, isAdmin, isGuest } = player
  const post = (step: string) => `/admin/players/${id}/${step}`
  return html`
    <${PageHeader} title=${name} crumbs=${[{ label: 'Players', href: '/admin/players' }]}
      chips=${html`<${State} player=${player} />`} />
    ${problem && html`<${Notice} tone="error">${problem}<//>`}
    <${Section} layout="side" title="Player" description=${html`<${Avatar} name=${name} imageUrl=${pathOf(imageUrl)} size="l" />`}>
      <${Card}>
        <${DescriptionList} items=${[
          { term: 'Email', detail: email ? `${email}${emailVerified ? '' : ' (not verified)'}` : 'none' },
          { term: 'Player id', detail: html`<code>${id}</code>` },
          { term: 'Here since', detail: html`<${Timestamp} at=${createdAt} />` },
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
                  <form class="row" action=${post(disabled ? 'enable' : 'disable')} method="post">
                    <${Button}>${disabled ? 'Let in again' : 'Disable'}<//>
                    ${!disabled && html`<${Checkbox} name="withContent" label="Suspend their games, too" checked />`}
                  </form>
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
                <p>This can't be undone. To lock a player out and keep the account, disable it.</p>
                <${Field} label=${`Type ${id.slice(-6)}, the end of the player id, to confirm`} name="confirm" required autocomplete="off" mono error=${problem} />
              <//><//>
            <//>`
    }`
}

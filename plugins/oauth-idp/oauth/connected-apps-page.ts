import { Button, EmptyState, html, Section, Table, Timestamp, type View } from '../../../core/pages/index.ts'
import { type SettingsEntry, SettingsHeader } from '../settings/header.ts'
import { scopeWords } from './consent-page.ts'
import type { Connection } from './consents.ts'

/** Lists the games that a player has connected. */
export const ConnectedPage = ({ entries, games }: { entries: SettingsEntry[]; games: Connection[] }): View => html`
  <${SettingsHeader} entries=${entries} current="/settings/connected" />
  <${Section} title="Connected games"
    description="These games have access to your account. If you disconnect one, it is signed out everywhere. It can ask you again.">
    ${
      games.length === 0
        ? html`<${EmptyState} title="No game has access yet">Sign in to one, and it appears here.<//>`
        : Table<Connection>({
            caption: 'Games that know you',
            rows: games,
            columns: [
              { label: 'Game', cell: (game) => nameOf(game) },
              { label: 'Knows', cell: (game) => scopeWords(game.scope) },
              { label: 'Since', cell: (game) => html`<${Timestamp} at=${game.since} />` },
              {
                label: 'Actions',
                action: true,
                cell: (game) => html`<form action=${`/settings/connected/${game.clientId}/revoke`} method="post">
                  <${Button} small label=${`Disconnect ${game.name}`}>Disconnect<//>
                </form>`,
              },
            ],
          })
    }
  <//>`

const nameOf = ({ name, homepageUrl }: Connection): View | string =>
  homepageUrl ? html`<a href=${homepageUrl} rel="noopener noreferrer">${name}</a>` : name

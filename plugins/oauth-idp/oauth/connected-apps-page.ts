import {
  Button,
  type Column,
  EmptyState,
  html,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { type SettingsEntry, SettingsHeader } from '../settings/header.ts'
import { scopeWords } from './consent-page.ts'
import type { Connection } from './consents.ts'
import type { ProtectedResources } from './resources.ts'

/** Lists the games that a player has connected. */
export const ConnectedPage = ({
  entries,
  games,
  resources,
  sections,
}: {
  entries: SettingsEntry[]
  games: Connection[]
  resources: ProtectedResources
  /** What other plugins add below the list. */
  sections: View[]
}): View => html`
  <${SettingsHeader} entries=${entries} current="/settings/connected" />
  <${Section} title="Connected games and programs"
    description="These have access to your account. If you disconnect one, it is signed out everywhere. It can ask you again.">
    ${
      games.length === 0
        ? html`<${EmptyState} title="Nothing has access yet">Sign in to a game, or connect an assistant, and it appears here.<//>`
        : Table<Connection>({
            caption: 'Games and programs that know you',
            rows: games,
            columns: [
              { label: 'Name', cell: (game) => nameOf(game) },
              { label: 'May', cell: (game) => wordsOf(game, resources) },
              { label: 'Since', cell: (game) => html`<${Timestamp} at=${game.since} />` },
              ...(games.some(({ registered, lastUse }) => registered || lastUse) ? [LAST_USE] : []),
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
  <//>
  ${sections}`

/** Only programs that use a protected resource have one. Those that registered themselves use nothing else. */
const LAST_USE: Column<Connection> = {
  label: 'Last use',
  cell: ({ registered, lastUse }) =>
    registered || lastUse
      ? html`<span><${Timestamp} at=${lastUse?.at} />${lastUse && html`<br /><code>${lastUse.what}</code>`}</span>`
      : '–',
}

/** A program that registered itself has scopes of protected resources only, which earlier versions did not mark. */
function wordsOf({ scope, resourceScope, registered }: Connection, resources: ProtectedResources): string {
  if (registered) return resources.words([...scope, ...resourceScope])
  return [scopeWords(scope), resources.words(resourceScope)].filter(Boolean).join('; ')
}

const nameOf = ({ name, homepageUrl }: Connection): View | string =>
  homepageUrl ? html`<a href=${homepageUrl} rel="noopener noreferrer">${name}</a>` : name

import {
  Button,
  Chip,
  EmptyState,
  html,
  PageHeader,
  Pagination,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { App } from './schemas.ts'

/** The path of the list of applications. */
export const APPS = '/settings/applications'

export const pathOfApp = ({ id }: Pick<App, 'id'>): string => `${APPS}/${id}`

interface AppsPageProps {
  apps: App[]
  nextCursor: string | null
  /** Whether this is the first page of the list. */
  first: boolean
}

/** Lists the applications of a player. */
export const AppsPage = ({ apps, nextCursor, first }: AppsPageProps): View => html`
  <${PageHeader} title="OAuth applications" actions=${apps.length > 0 && html`<${Button} kind="act" href=${`${APPS}/new`}>New application<//>`}
    lede="An application signs players of this platform in elsewhere: in a game with a server of its own, on a website, in a program. Each of your games has one." />
  ${Table<App>({
    caption: 'Your applications',
    rows: apps,
    empty: html`<${EmptyState} title="No applications yet" action=${{ href: `${APPS}/new`, label: 'Register an application' }}>A game that is hosted here gets one by itself.<//>`,
    columns: [
      {
        label: 'Application',
        cell: (app) => html`<a href=${pathOfApp(app)}>${app.name}</a><br /><code class="soft">${app.clientId}</code>`,
      },
      { label: 'Kind', cell: kindOf },
      { label: 'Registered', cell: ({ createdAt }) => html`<${Timestamp} at=${createdAt} day />` },
      { label: 'Last used', cell: ({ lastUsedAt }) => html`<${Timestamp} at=${lastUsedAt} />` },
    ],
  })}
  <${Pagination} label="applications" first=${first ? null : APPS} next=${nextCursor && `${APPS}?cursor=${nextCursor}`} />`

/** Says what kind of application it is. */
export const kindOf = ({ gameId, public: isPublic }: App): View => html`<span class="row">
  ${gameId && html`<${Chip}>game<//>`}<${Chip}>${isPublic ? 'without a secret' : 'with a secret'}<//></span>`

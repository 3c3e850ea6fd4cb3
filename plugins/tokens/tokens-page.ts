import {
  Button,
  Card,
  Checkbox,
  Chip,
  Choices,
  CodeBlock,
  CopyValue,
  EmptyState,
  Field,
  Form,
  html,
  Notice,
  PageHeader,
  Pagination,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../core/pages/index.ts'
import type { CreatedToken, Expiry, Token } from './schemas.ts'
import { ALL_SCOPES, PRESETS, SCOPES, type Scope } from './scopes.ts'

export interface TokenForm {
  label: string
  /** A preset, or `custom`. */
  access: string
  scopes: Scope[]
  expiresInDays: Expiry
  errors: Record<string, string>
}

interface TokensPageProps {
  tokens: Token[]
  nextCursor: string | null
  /** Whether this is the first page of the list. */
  first: boolean
  created: CreatedToken | undefined
  form: TokenForm
  portalUrl: string
  now: Date
}

export const TokensPage = (props: TokensPageProps): View => html`
  <${PageHeader} title="API tokens" lede="A token lets a program act for you within its scopes, for example a build server or a coding assistant."
    actions=${props.tokens.length > 0 && html`<${Button} href="#new">New token<//>`} />
  ${props.created && html`<${Created} created=${props.created} portalUrl=${props.portalUrl} />`}
  <${Section} title="Your tokens">
    <${List} ...${props} />
    <${Pagination} label="tokens" first=${props.first ? null : '/settings/tokens'}
      next=${props.nextCursor && `/settings/tokens?cursor=${props.nextCursor}`} />
  <//>
  <${Section} title="New token" id="new">
    <${NewToken} form=${props.form} act=${!props.created} />
  <//>`

const Created = ({ created, portalUrl }: { created: CreatedToken; portalUrl: string }): View => html`
  <div data-result><${Card}>
    <${Notice} tone="success" title=${`The token “${created.label}” is ready`}>
      Copy it now, and protect it like a password. It is shown only this once.
    <//>
    <${CopyValue} label="token" value=${created.token} />
    <${CodeBlock} title="Try it" code=${`curl -H "Authorization: Bearer ${created.token}" ${portalUrl}/api/cli/whoami`} />
  <//></div>`

function List({ tokens, now }: TokensPageProps): View {
  return Table<Token>({
    caption: 'Your tokens',
    rows: tokens,
    empty: html`<${EmptyState} title="No tokens yet">Create one below to deploy a game from a terminal or a build server.<//>`,
    columns: [
      {
        label: 'Token',
        cell: ({ label, prefix }) => html`${label}<br /><code class="soft">${prefix}…</code>`,
      },
      { label: 'Access', cell: (token) => accessOf(token) },
      { label: 'Last used', cell: ({ lastUsedAt }) => html`<${Timestamp} at=${lastUsedAt} />` },
      {
        label: 'Expires',
        cell: ({ expiresAt }) =>
          expiresAt !== null && new Date(expiresAt) <= now
            ? html`<${Chip} tone="warn">expired<//>`
            : html`<${Timestamp} at=${expiresAt} />`,
      },
      {
        label: 'Actions',
        action: true,
        cell: ({ id, label }) => html`
          <form action=${`/settings/tokens/${id}/revoke`} method="post">
            <${Button} small label=${`Revoke ${label}`}>Revoke<//>
          </form>`,
      },
    ],
  })
}

/** Returns the matching preset, or else the scopes. */
function accessOf({ kind, scopes }: Token): string {
  if (kind === 'cli') return 'CLI, full access'
  const preset = PRESETS.find((candidate) => candidate.scopes.join() === scopes.join())
  return preset?.title ?? scopes.join(', ')
}

const NewToken = ({ form, act }: { form: TokenForm; act: boolean }): View => html`
  <${Card}>
    <${Form} action="/settings/tokens" submit="Create token" kind=${act ? 'act' : 'plain'}>
      <${Field} label="Label" name="label" value=${form.label} required maxlength=${80} autocomplete="off"
        hint="Where you will use it: laptop, build server." error=${form.errors.label} />
      <${Choices} legend="Access" name="access" value=${form.access} error=${form.errors.scopes}
        options=${[
          ...PRESETS.map(({ id, title, description, scopes }) => ({
            value: id,
            label: title,
            hint: scopes.length === ALL_SCOPES.length ? description : `${description}: ${scopes.join(', ')}`,
          })),
          { value: 'custom', label: 'Chosen scopes', hint: 'Just those ticked below' },
        ]} />
      <details open=${form.access === 'custom'}>
        <summary>Scopes for “Chosen scopes”</summary>
        <div class="choice-list">
          ${ALL_SCOPES.map(
            (scope) => html`<${Checkbox} name="scopes" value=${scope} hint=${SCOPES[scope]}
              label=${html`<code>${scope}</code>`} checked=${form.access === 'custom' && form.scopes.includes(scope)} />`,
          )}
        </div>
      </details>
      <${Field} label="Expires" name="expires" type="select" value=${String(form.expiresInDays)}
        options=${[
          { value: '30', label: 'in 30 days' },
          { value: '90', label: 'in 90 days' },
          { value: '365', label: 'in a year' },
          { value: 'null', label: 'never' },
        ]} />
    <//>
  <//>`

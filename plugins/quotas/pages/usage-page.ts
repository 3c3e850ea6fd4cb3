import {
  Button,
  Card,
  type Content,
  DescriptionList,
  EmptyState,
  formatBytes,
  html,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { SettingsHeader } from '../../oauth-idp/index.ts'
import type { QuotaName, Quotas, StoredThing, Usage } from '../schemas.ts'

interface UsagePageProps {
  entries: { label: string; href: string; order: number }[]
  usage: Usage
  /** The names of the kinds. */
  labels: ReadonlyMap<string, string>
}

/** /settings/storage: the stored things of a player, largest first. */
export const UsagePage = ({ entries, usage, labels }: UsagePageProps): View => html`
  <${SettingsHeader} entries=${entries} current="/settings/storage" />
  <${Section} layout="side" title="Limits" description="The host of this server sets these numbers.">
    <${Card}>
      <${DescriptionList} items=${quotaItems(usage.quotas)} />
    <//>
  <//>
  ${
    usage.kinds.length > 0 &&
    html`<${Section} layout="side" title="By category" description="A file that several of your deploys have counts once.">
      <${Card}>
        <${DescriptionList} items=${usage.kinds.map(({ kind, bytes }) => ({ term: labels.get(kind) ?? kind, detail: formatBytes(bytes) }))} />
      <//>
    <//>`
  }
  <${Section} title="Largest items" id="largest"
    description="Largest first. What has been deleted can't be brought back.">
    ${
      usage.largest.length === 0
        ? html`<${EmptyState} title="Nothing is stored for you yet">Publish a game or upload an asset, and it shows here.<//>`
        : Table<StoredThing>({ caption: 'Largest items', rows: usage.largest, columns: columnsFor(labels) })
    }
  <//>`

const columnsFor = (labels: ReadonlyMap<string, string>) => [
  {
    label: 'What',
    cell: ({ title, url, kind }: StoredThing) =>
      html`<a href=${url}>${title}</a><br /><span class="soft">${labels.get(kind) ?? kind}</span>`,
  },
  { label: 'Size', align: 'end' as const, cell: ({ bytes }: StoredThing) => formatBytes(bytes) },
  {
    label: 'Frees',
    align: 'end' as const,
    cell: ({ frees }: StoredThing) => (frees === null ? '' : formatBytes(frees)),
  },
  { label: 'Since', cell: ({ createdAt }: StoredThing) => html`<${Timestamp} at=${createdAt} />` },
  { label: 'Actions', action: true, cell: remove },
]

const remove = ({ kind, id, title, removable }: StoredThing): Content =>
  removable
    ? html`<form action="/settings/storage/remove" method="post">
        <input type="hidden" name="kind" value=${kind} /><input type="hidden" name="id" value=${id} />
        <${Button} small kind="danger" label=${`Delete ${title}`}>Delete<//></form>`
    : html`<span class="soft">in use</span>`

const WORDS: Record<QuotaName, { term: string; text: (value: number) => string }> = {
  storageBytesPerPlayer: { term: 'Storage', text: formatBytes },
  gamesPerPlayer: { term: 'Games', text: String },
  assetsPerPlayer: { term: 'Assets', text: String },
  uploadBytesPerDay: { term: 'Uploads today', text: formatBytes },
}

/** Describes the quotas of a player. */
export const quotaItems = (quotas: Quotas) =>
  (Object.keys(WORDS) as QuotaName[]).map((name) => {
    const { used, limit } = quotas[name]
    const { term, text } = WORDS[name]
    return { term, detail: limit === null ? `${text(used)}, without a limit` : `${text(used)} of ${text(limit)}` }
  })

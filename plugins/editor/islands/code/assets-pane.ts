import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { html, type View } from './html.ts'
import type { Workspace } from './workspace.ts'

/** An asset, in the form of `GET /api/assets`. */
interface Asset {
  slug: string
  title: string
  kind: 'model' | 'pack' | 'image' | 'audio' | 'animation'
  license: string | null
  attribution: string | null
  files: { path: string }[]
  fileUrl: string
}

const KINDS = {
  '': 'Everything',
  model: 'Models',
  pack: 'Packs',
  image: 'Pictures',
  audio: 'Sounds',
  animation: 'Clips',
}
/** What the licenses ask of a game. The library itself finds any other. */
const LICENSES = {
  '': 'Any license',
  'CC0-1.0': 'CC0: free for all',
  'CC-BY-4.0': 'CC BY: with credit',
  MIT: 'MIT',
}
const PER_PAGE = '20'
/** The files of a pack that are listed. */
const LISTED = 100

interface AssetsPaneProps {
  workspace: Workspace
  /** The address of the API that lists public assets. */
  library: string
  shown: boolean
  /** Called before an address is inserted. */
  onInsert: () => void
}

/** The platform's public assets. The address of one is inserted at the cursor. */
export function AssetsPane({ workspace, library, shown, onInsert }: AssetsPaneProps): View {
  const form = useRef<HTMLFormElement>(null)
  const [assets, setAssets] = useState<Asset[] | null>(null)
  const [next, setNext] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  /** The number of the last search, so that a slow answer does not replace a newer one. */
  const searches = useRef(0)
  const search = useCallback(
    async (cursor: string | null = null) => {
      const number = ++searches.current
      const fields = [...new FormData(form.current as HTMLFormElement)].map(([name, value]) => [name, String(value)])
      const asked = [...fields, ['limit', PER_PAGE], ['cursor', cursor ?? '']].filter(([, value]) => value)
      // Public assets need no credentials, and another origin would not get any.
      const answer = await fetch(`${library}?${new URLSearchParams(asked)}`, { credentials: 'omit' })
        .then((response) => (response.ok ? response.json() : null))
        .catch(() => null)
      if (number !== searches.current) return
      setProblem(answer ? null : 'The library could not be read. Try again.')
      if (!answer) return
      setAssets((before) => [...(cursor && before ? before : []), ...answer.assets])
      setNext(answer.nextCursor)
    },
    [library],
  )
  useEffect(() => {
    if (shown && searches.current === 0) void search()
  }, [shown, search])
  const submit = (event: Event) => {
    event.preventDefault()
    void search()
  }
  const insert = (address: string) => {
    // The editor must be in sight to take the focus.
    onInsert()
    workspace.insert(address)
  }
  const target = workspace.active?.kind === 'text' ? workspace.active.path : null
  return html`
    <section class="code-assets" aria-label="Assets" hidden=${!shown}>
      <form class="code-asset-search" role="search" aria-label="Search assets" ref=${form} onSubmit=${submit}>
        <input class="control" type="search" name="q" aria-label="Search assets" placeholder="Search assets" autocomplete="off" maxlength="200" />
        <select class="control" name="kind" aria-label="Kind" onChange=${submit}>${Object.entries(KINDS).map(
          ([kind, label]) => html`<option value=${kind}>${label}</option>`,
        )}</select>
        <select class="control" name="license" aria-label="License" onChange=${submit}>${Object.entries(LICENSES).map(
          ([license, label]) => html`<option value=${license}>${label}</option>`,
        )}</select>
      </form>
      <p class="hint">${target === null ? 'Open a text to insert an address.' : html`Inserts the address at the cursor of <code>${target}</code>.`} Here are public assets; <a href="/assets/mine" target="_blank" rel="noopener">publish yours</a> to use them.</p>
      <div role="status">${problem ?? (assets?.length === 0 && 'Nothing matches.')}</div>
      <ul class="code-asset-list">${assets?.map((asset) => html`<${Entry} key=${asset.slug} asset=${asset} insert=${insert} disabled=${target === null} />`)}</ul>
      ${next && html`<button class="button small" type="button" onClick=${() => search(next)}>Show more</button>`}
    </section>`
}

interface EntryProps {
  asset: Asset
  insert: (address: string) => void
  disabled: boolean
}

function Entry({ asset, insert, disabled }: EntryProps): View {
  const { slug, title, kind, license, attribution, files } = asset
  const page = `/assets/${slug}`
  const button = (address: string, name: string) =>
    html`<button class="button small" type="button" disabled=${disabled} aria-label=${`Insert ${name}`} onClick=${() => insert(address)}>Insert</button>`
  return html`
    <li>
      <img src=${`${page}/thumbnail`} alt="" width="64" height="48" loading="lazy" />
      <div>
        <a href=${page} target="_blank" rel="noopener">${title}</a><br /><span class="soft">${[kind, license].filter(Boolean).join(' · ')}</span>
        ${attribution && html`<details><summary class="soft">Credit</summary><p class="code-asset-credit">${attribution}</p></details>`}
      </div>
      ${button(addressOf(asset), title)}
      ${
        kind === 'pack' &&
        html`<details>
          <summary>${files.length === 1 ? 'One file' : `${files.length} files`}</summary>
          <ul>${files.slice(0, LISTED).map(({ path }) => html`<li key=${path}><span>${path}</span>${button(`/__service/assets/${slug}/${path.split('/').map(encodeURIComponent).join('/')}`, path)}</li>`)}</ul>
        </details>`
      }
    </li>`
}

/** Returns the address by which a game loads an asset: its own, or the library's for a whole pack. */
function addressOf({ slug, kind, files, fileUrl }: Asset): string {
  if (kind === 'pack') return fileUrl
  const extension = kind === 'image' || kind === 'audio' ? files[0]?.path.split('.').pop() : 'glb'
  return `/__service/assets/${slug}.${extension}`
}

import { useEffect, useState } from 'preact/hooks'
import type { Comparison } from '../../schemas.ts'
import { Changes } from './changes.ts'
import { html, type View } from './html.ts'
import type { Workspace } from './workspace.ts'

type Deploys = Awaited<ReturnType<Workspace['api']['deploys']>>['deploys']

/** The deploys of the game, each with what it changed. */
export function History({ workspace, shown }: { workspace: Workspace; shown: boolean }): View {
  const [deploys, setDeploys] = useState<Deploys>([])
  const [chosen, setChosen] = useState<Comparison | null>(null)
  const { api } = workspace
  useEffect(() => {
    if (!shown) return
    api.deploys().then(
      ({ deploys: all }) => setDeploys(all.filter(({ state }) => state === 'live' || state === 'superseded')),
      () => setDeploys([]),
    )
  }, [api, shown])
  const compare = async (index: number) => {
    const [to, from] = [deploys[index], deploys[index + 1]]
    if (to && from) setChosen(await workspace.api.compare({ from: from.id, to: to.id }).catch(() => null))
  }
  return html`
    <section class="code-history" aria-label="History" hidden=${!shown}>
      <ol>${deploys.map(
        ({ id, message, state, createdAt }, index) => html`<li key=${id}>
          <span>${message ?? 'No message'}${state === 'live' && html` <span class="chip info">live</span>`}<br /><time class="soft" datetime=${createdAt}>${new Date(createdAt).toLocaleString()}</time></span>
          ${index + 1 < deploys.length && html`<button class="button small" type="button" onClick=${() => compare(index)}>Compare</button>`}
        </li>`,
      )}</ol>
      ${chosen && html`<${Changes} files=${chosen.files} />`}
    </section>`
}

/** The page *Code* of a game: edits its draft, which is on the server. */
import { render } from 'preact'
import type { DraftPage } from '../page-data.ts'
import { DraftApi } from './code/api.ts'
import { App } from './code/app.ts'
import { html } from './code/html.ts'
import { InputBeforeLoad } from './code/input-before-load.ts'
import { UnsentTexts } from './code/unsent.ts'
import { Workspace } from './code/workspace.ts'

const place = document.querySelector<HTMLElement>('[data-code]')

if (place) {
  await painted()
  const {
    draft,
    first,
    playerId,
    preview,
    stream: address,
    scripts,
    roomLog,
    assets,
  } = JSON.parse(place.dataset.code ?? '') as DraftPage
  const api = new DraftApi(draft.gameId)
  const workspace = new Workspace(draft, { api, unsent: new UnsentTexts(draft.gameId), playerId })
  const early = new InputBeforeLoad(place)
  if (first) workspace.take(first)
  if (workspace.active && early.typed !== null) workspace.edit(workspace.active, early.typed)
  place.replaceChildren()
  const draw = () =>
    render(
      html`<${App} workspace=${workspace} preview=${preview} scripts=${scripts} roomLog=${roomLog} assets=${assets} />`,
      place,
    )
  workspace.subscribe(draw)
  draw()
  early.goOn(place)
  void open(workspace)

  const stream = new EventSource(address)
  stream.addEventListener('draft', ({ data }) => void workspace.heard(JSON.parse(data).revision))
  addEventListener('beforeunload', (event) => {
    if (workspace.status !== 'saved') event.preventDefault()
  })
  addEventListener('pagehide', () => workspace.saveAll())
}

/** Waits for the page to be painted, so that its text can be typed in before this script starts. */
function painted(): Promise<void> {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done))
    // A page in the background is not painted.
    setTimeout(done, 300)
  })
}

/** Opens what was not saved when the page was left, and a first file. */
async function open(workspace: Workspace): Promise<void> {
  await workspace.restore()
  const [first] = workspace.draft.files
  if (!workspace.active && first) await workspace.show(first.path)
}

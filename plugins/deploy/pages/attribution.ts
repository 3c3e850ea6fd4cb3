import { Avatar, Button, Confirm, type Content, Form, html, type View } from '../../../core/pages/index.ts'
import type { Deploy } from '../schemas.ts'

/** The player who made a deploy, with picture. */
export const makerOf = ({ by }: Deploy): View =>
  by
    ? html`<span class="person"><${Avatar} name=${by.name} imageUrl=${by.imageUrl} size="s" /><a href=${`/players/${by.id}`}><bdi>${by.name}</bdi></a></span>`
    : html`<span class="soft">Deleted account</span>`

/** Says which other maker replaced a deploy, and how soon. */
export function replacementNote({ by, replacedBy, liveAt }: Deploy): Content {
  if (!replacedBy || !liveAt || replacedBy.player?.id === by?.id) return null
  const span = spanOf(Date.parse(replacedBy.at) - Date.parse(liveAt))
  return html`<br /><span class="soft">replaced by <bdi>${replacedBy.player?.name ?? 'a deleted account'}</bdi> after ${span}</span>`
}

interface RollbackProps {
  /** The address of the page. */
  path: string
  deploy: Deploy
  /** The deploy that is live now, and ends by the rollback. */
  live: Deploy | undefined
  /** The viewer. */
  playerId: string
  /** The text of the button. */
  label: string
  /** The accessible name of the button, which begins with the text. */
  name: string
}

/** The button that puts an earlier deploy live. Where it ends the deploy of another maker, it says so first. */
export function rollbackForm({ path, deploy, live, playerId, label, name }: RollbackProps): View {
  const action = `${path}/${deploy.id}/rollback`
  if (!live || live.by?.id === playerId)
    return html`<${Form} action=${action}><${Button} small label=${name}>${label}<//><//>`
  return html`<${Confirm} small kind="plain" label=${label} name=${name} action=${action}>
    <p>${undoes(live)} It stays in this list.</p>
  <//>`
}

/** Says whose deploy a rollback ends. */
const undoes = ({ by, message, id }: Deploy): Content =>
  html`This replaces the deploy of <bdi>${by?.name ?? 'a deleted account'}</bdi>: <bdi>${message ?? id}</bdi>.`

/**
 * The message after a rollback.
 *
 * @param undone the deploy that was live before, and can be live again
 * @param playerId the viewer
 */
export const rolledBack = (path: string, undone: Deploy | undefined, playerId: string): Content =>
  html`That deploy is live again.${
    undone &&
    html`${undone.by?.id !== playerId && html` It replaced the deploy of <bdi>${undone.by?.name ?? 'a deleted account'}</bdi>.`} <${Form} action=${`${path}/${undone.id}/rollback`} inline><${Button} small>Undo<//><//>`
  }`

/** Says after a publication whose deploy was faster. @param replaced went live while the published build arrived */
export const overtook = (replaced: Deploy | undefined): Content =>
  replaced &&
  html` It replaced the deploy of <bdi>${replaced.by?.name ?? 'a deleted account'}</bdi>, which went live while yours arrived.`

/** Formats the time between two events for people: `12 s`, `3 min`, `5 h`, `2 days`. */
function spanOf(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 100) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}

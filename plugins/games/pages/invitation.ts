import { Card, Cover, Form, html, type View } from '../../../core/pages/index.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'

/** The page of the invitation link to a private game. */
export const invitation = (game: Game, key: string): View => html`
  <${Card} flush><${Cover} ...${{ id: game.id, title: game.title, coverUrl: null }} /><//>
  <${Form} action=${`${pathOf(game)}/join/${key}`} submit="Join"><//>`

import type { FastifyInstance } from 'fastify'
import { Checkbox, Confirm, Field, Form, html, Section, type View } from '../../../core/pages.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { dashboardHeader } from './dashboard.ts'
import { type GameForm, gameFields, type Problems } from './form.ts'

/** The settings of a game: what it says of itself, how it is served, and its end. */
export function settings(
  app: Pick<FastifyInstance, 'games' | 'origins'>,
  game: Game,
  { form, problems = {} }: { form?: GameForm; problems?: Problems } = {},
): View {
  const path = `${pathOf(game)}/settings`
  const { authWidget, crossOriginIsolated, multiplayer } = game.settings
  return html`
    ${dashboardHeader(app, game, path)}
    <${Section} layout="side" title="About the game" description="What its page and the catalog say.">
      <${Form} action=${path} submit="Save" error=${problems.form}>${gameFields(form ?? formOf(game), problems)}<//>
    <//>
    <${Section} layout="side" title="How it is served" description="Takes effect at once, without a new deploy.">
      <${Form} action=${`${path}/serving`} submit="Save" kind="plain">
        <${Checkbox} name="playable" label="Can be played" checked=${game.playable} hint="Untick it to take the game off the air for everyone." />
        <${Checkbox} name="authWidget" label="Sign-in button" checked=${authWidget === 'on'} hint="Put a sign-in button on the game's pages. The game can also bring its own." />
        <${Checkbox} name="crossOriginIsolated" label="Threads and shared memory" checked=${crossOriginIsolated}
          hint="Serves the game isolated from other origins, as SharedArrayBuffer needs. It can't load from elsewhere then." />
        <${Checkbox} name="multiplayer" label="Multiplayer rooms" checked=${multiplayer.enabled} />
        <${Checkbox} name="guests" label="Guests in rooms" checked=${multiplayer.guests} hint="Lets people into rooms who are not signed in." />
        <${Field} type="number" name="maxPlayersPerRoom" label="Players in one room" min=${1} max=${1000} required value=${multiplayer.maxPlayersPerRoom} />
      <//>
    <//>
    <${Section} layout="side" title="End of the game" description="Its address is kept free for 90 days.">
      <${Confirm} label="Delete game" action=${`${path}/delete`} submit="Delete for everyone">
        <p>Nobody can open <strong>${game.title}</strong> any more, and it disappears from every list.</p>
      <//>
    <//>`
}

const formOf = (game: Game): GameForm => ({ ...game, tags: game.tags.join(' ') })

import type { FastifyInstance } from 'fastify'
import {
  Button,
  Checkbox,
  Choices,
  Confirm,
  Field,
  Form,
  html,
  MediaShelf,
  Section,
  type View,
} from '../../../core/pages/index.ts'
import { MOST_MEDIA } from '../media/media.ts'
import { pathOf } from '../record.ts'
import { type Game, MOST_SAVED_BYTES } from '../schemas.ts'
import { dashboardHeader } from './dashboard.ts'
import { featuresSection } from './features.ts'
import { type GameForm, gameFields, slugField } from './form.ts'
import { gameTitle } from './game-title.ts'

export interface SettingsProps {
  game: Game
  /** Whether the viewer owns the game, and so may change its address and end it. */
  isOwner: boolean
}

type App = Pick<FastifyInstance, 'games' | 'origins'>

/** Renders the settings of a game: description, addresses, serving, access and deletion. */
export function settings(app: App, { game, isOwner }: SettingsProps): View {
  const path = `${pathOf(game)}/settings`
  return html`
    ${dashboardHeader(app, game, path)}
    <${Section} layout="side" title="About the game" description="Shown on its page and in the catalog.">
      <${Form} action=${path} submit="Save">${gameFields(formOf(game))}<//>
    <//>
    ${featuresSection(game, path)}
    ${mediaSection(game, path)}
    ${isOwner && addressSection(game, path)}
    ${app.games.dashboard.settings
      .filter((page) => page.shown(game))
      .map(
        ({ title, description, label, href }) =>
          html`<${Section} layout="side" title=${title} description=${description}><div class="row"><${Button} href=${href(game)}>${label}<//></div><//>`,
      )}
    ${servingSection(game, path)}
    ${isOwner && game.visibility === 'private' && !game.approval && testersSection(game)}
    ${isOwner && endSection(game, path)}`
}

const endSection = (game: Game, path: string): View => html`
    <${Section} layout="side" title="End of the game" id="end" description="You can restore it for 30 days. Its address stays reserved for 90 days.">
      <${Confirm} label="Delete game" action=${`${path}/delete`} submit="Delete for everyone">
        <p>Nobody can open <strong>${gameTitle(game)}</strong>, and it disappears from every list.</p>
        <${Field} label=${`Type ${game.slug} to confirm`} name="confirm" required autocomplete="off" mono />
      <//>
    <//>`

const mediaSection = (game: Game, path: string): View => html`
  <${Section} layout="side" title="Pictures and videos" id="media" description="The game's card shows the cover. PNG, JPEG, WebP or GIF up to 10 MiB, MP4 or WebM up to 100 MiB.">
    ${
      game.media.length > 0 &&
      html`<${MediaShelf} items=${game.media} actions=${(item: Game['media'][number], index: number) => html`
        ${
          item.kind === 'image' &&
          (item.url === game.coverUrl
            ? html`<span class="chip success">cover</span>`
            : html`<${Form} action=${`${path}/media/cover`}><${Button} small name="media" value=${item.id} label=${`Make cover: picture ${index + 1}`}>Make cover<//><//>`)
        }
        <${Form} action=${`${path}/media/remove`}><${Button} small kind="quiet" name="media" value=${item.id} label=${`Remove ${item.kind === 'video' ? 'video' : 'picture'} ${index + 1}`}>Remove<//><//>`} />`
    }
    ${
      game.media.length < MOST_MEDIA &&
      html`<${Form} action=${`${path}/media`} multipart><div class="drop" data-upload=${`/api/games/${game.id}/media`}>
        <${Field} label="Picture or video" name="file" type="file" accept=".png,.jpg,.jpeg,.webp,.gif,.mp4,.webm" required hint="Choose a file, or drop it here." />
        <progress max="1" value="0" hidden aria-label="Upload"></progress>
        <p class="field-error" role="alert" hidden></p>
        <div class="form-actions"><${Button}>Upload<//></div>
      </div><//>`
    }
  <//>`

const addressSection = (game: Game, path: string): View => html`
  <${Section} layout="side" title="Address" id="address" description="The old address redirects to the new one for 90 days. Saved games in browsers stay at the old address.">
    <${Form} action=${`${path}/address`} submit="Move" kind="plain" inline>
      ${slugField({ label: game.hosted ? 'Name in its address' : 'Name of its page', value: game.slug, required: true })}
    <//>
  <//>`

const isolationValue = (setting: 'auto' | boolean): string => (setting === 'auto' ? 'auto' : setting ? 'on' : 'off')

function servingSection(game: Game, path: string): View {
  const { authWidget, crossOriginIsolated, embedded, remix, clickToStart, multiplayer, saves } = game.settings
  return html`
    <${Section} layout="side" title="How it is served" id="serving" description="Takes effect at once, without a new deploy.">
      <${Form} action=${`${path}/serving`} submit="Save" submitLabel="Save how it is served" kind="plain">
        <${Checkbox} name="playable" label="Can be played" checked=${game.playable} hint="Untick it to close the game for everyone but its previews." />
        <${Checkbox} name="authWidget" label="Sign-in button" checked=${authWidget === 'on'} hint="Put a sign-in button on the game's pages. The game can also bring its own." />
        <${Checkbox} name="clickToStart" label="Cover with a button" checked=${clickToStart} hint="Its page loads the game when a player presses Start. Then sound works from the beginning." />
        <${Choices} legend="Threads and shared memory" name="crossOriginIsolated" value=${isolationValue(crossOriginIsolated)} options=${[
          { value: 'auto', label: 'Automatic', hint: 'Isolates a build whose .wasm uses shared memory.' },
          {
            value: 'on',
            label: 'Isolated',
            hint: 'SharedArrayBuffer works. Other servers must allow the game to load their files.',
          },
          { value: 'off', label: 'Not isolated', hint: 'Threads do not work.' },
        ]} />
        ${
          !game.hosted &&
          html`<${Checkbox} name="embedded" label="Play on its page here" checked=${embedded}
            hint="Shows the game in a frame of its page. Its server must answer /auth/service/start, as the adapter does, and allow frames." />`
        }
        ${
          game.hosted &&
          html`<${Checkbox} name="remix" label="Others may make their own version" checked=${remix}
            hint="While the game is public, every player can copy its files into a new game, the room script included. Its page says where it came from." />`
        }
        <${Checkbox} name="multiplayer" label="Multiplayer rooms" checked=${multiplayer.enabled} />
        <${Checkbox} name="guests" label="Guests in rooms" checked=${multiplayer.guests} hint="Admits players without sign-in to rooms." />
        <${Field} type="number" name="maxPlayersPerRoom" label="Players in one room" min=${1} max=${1000} required value=${multiplayer.maxPlayersPerRoom} />
        <${Field} type="number" name="savesBytes" label="Bytes of saves of one player" min=${0} max=${MOST_SAVED_BYTES} required value=${saves.bytes}
          hint="All saves of a player in this game, with their earlier versions. They count for you; the platform may allow less." />
      <//>
    <//>`
}

const testersSection = (game: Game): View => html`
  <${Section} layout="side" title="Who sees it" id="testers" description="While it is private: its makers, and testers whom you invite.">
    <div class="row"><${Button} href=${`${pathOf(game)}/team`}>Invite testers<//></div>
  <//>`

const formOf = (game: Game): GameForm => ({
  ...game,
  tags: game.tags.join(' '),
  visibility: game.approval?.visibility ?? game.visibility,
})

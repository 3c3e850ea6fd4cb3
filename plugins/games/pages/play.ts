import type { FastifyInstance } from 'fastify'
import {
  Button,
  Chip,
  type Content,
  EmptyState,
  html,
  MediaGallery,
  PageHeader,
  PlayBar,
  PlayFrame,
  PlayFrameDetails,
  Row,
  Stack,
  ThingLinks,
  type View,
} from '../../../core/pages/index.ts'
import { languageOf } from '../features/languages.ts'
import type { Credit } from '../members/members.ts'
import { isFramed, isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { inWords } from './card.ts'
import { gameTabs } from './dashboard.ts'
import { featureFacts } from './features.ts'
import { gameTitle } from './game-title.ts'
import { playerPath } from './player.ts'

const number = new Intl.NumberFormat('en')

export interface PlayProps {
  game: Game
  /** The owner and the other makers. */
  makers: readonly Credit[]
  /** Whether the viewer is signed in here, and so must be signed in to the game. */
  signedIn: boolean
  isMaker: boolean
  /** The sections that plugins add. */
  sections: Content[]
  /** Other games. */
  more: Content
}

/** Renders the public page of a game: the game itself, and its description below. Only its makers see a suspended one. */
export function play(app: Pick<FastifyInstance, 'games' | 'origins' | 'site'>, props: PlayProps): View {
  const { game, signedIn, isMaker, makers, sections, more } = props
  const lang = languageOf(game)
  const ready = isReady(game)
  const framed = isFramed(game)
  const { origin, pathname, search, href } = new URL(game.url)
  // An external game, and a page without scripts, uses the game's own sign-in. It completes without a click for a
  // player who is signed in here, where the browser sends the portal's cookie in the frame.
  const start = new URLSearchParams({ embed: '1', returnTo: pathname + search })
  const plain = `${origin}/auth/service/start?${start}`
  const signIn = signedIn && game.hosted ? { ticket: `${pathOf(game)}/play-ticket`, plain } : undefined
  const src = signedIn && !game.hosted ? plain : href
  const chips = game.approval
    ? html`<${Chip} tone="warn">${game.approval.state === 'refused' ? 'refused' : 'waits for approval'}<//>`
    : game.visibility === 'private' && html`<${Chip}>private<//>`
  const by = html`by ${makers.length > 0 ? inWords(makers.map(linkTo)) : 'somebody'}`
  return html`
    ${
      framed &&
      html`<${PlayBar} title=${game.title} lang=${lang} elsewhere=${!game.hosted} by=${html`${by} ${chips}`}>
        ${
          isMaker
            ? html`<a class="button small quiet" href=${`${pathOf(game)}/overview`}>Dashboard</a>`
            : app.site.thingLinks.map(
                ({ label, href }) =>
                  html`<a class="button small quiet" href=${href('game', game.slug)} rel="nofollow">${label}</a>`,
              )
        }
      <//>
      <${PlayFrame} src=${src} game=${{ ...game, lang }} isolated=${game.isolated} elsewhere=${!game.hosted} signIn=${signIn} covered=${game.settings.clickToStart} alone=${href} />`
    }
    <${PlayFrameDetails}>
      ${
        framed
          ? // The bar has no room for the makers and the state on a phone.
            html`<h2>About <bdi lang=${lang}>${game.title}</bdi></h2>
            <p class="soft">${by} ${chips}</p>
            <div class="row"><a class="address" href=${href}>${href.replace(/^https?:\/\/|\/$/g, '')}</a><${Button} href=${href}>Open on its own<//></div>`
          : html`<${PageHeader} title=${gameTitle(game)} lede=${by} address=${game.url} chips=${chips} actions=${actions(ready, game)} />`
      }
      ${isMaker && gameTabs(app, game, pathOf(game))}
      ${game.suspended ? suspended(game) : !ready && (isMaker ? unpublished(game) : html`<${EmptyState} title="Nothing to play yet"><p>Its maker has not published a build. Come back later.</p><//>`)}
      <${Stack}>
        ${
          (game.stats.plays > 0 || game.tags.length > 0) &&
          html`<${Row}>
          ${game.stats.plays > 0 && html`<span class="soft">Played ${number.format(game.stats.plays)} ${game.stats.plays === 1 ? 'time' : 'times'}</span>`}
          ${game.tags.map((tag) => html`<a class="chip info" href=${`/catalog?tag=${encodeURIComponent(tag)}`}>${tag}</a>`)}
        <//>`
        }
        ${paragraphs(game.description)}
        ${featureFacts(game)}
        ${sections}
        ${game.media.length > 0 && html`<${MediaGallery} items=${game.media} title=${game.title} />`}
        ${more}
        ${!isMaker && !framed && html`<${ThingLinks} site=${app.site} kind="game" id=${game.slug} />`}
      <//>
    <//>`
}

const linkTo = ({ id, name, hasPage }: Credit): Content =>
  hasPage ? html`<a href=${playerPath(id)}><bdi>${name}</bdi></a>` : html`<bdi>${name}</bdi>`

const actions = (ready: boolean, game: Game): Content =>
  ready && html`<${Row}><${Button} kind="act" href=${game.url}>Play at ${new URL(game.url).host}<//><//>`

const suspended = (game: Game): View =>
  html`<${EmptyState} title="Suspended" action=${{ href: `${pathOf(game)}/overview`, label: 'See the reason' }}><p>Nobody can play it now. You may answer once.</p><//>`

/** Renders the page of a suspended game for everybody but its makers. Its title may be the reason, so it says nothing. */
export const suspendedForOthers = (): View => html`
  <${PageHeader} title="Suspended" />
  <${EmptyState} title="This game is not shown" action=${{ href: '/catalog', label: 'Find another game' }}><p>The people who look after this platform have taken it offline.</p><//>`

const unpublished = (game: Game): View =>
  html`<${EmptyState} title="Not published yet" action=${{ href: `${pathOf(game)}/deploys`, label: 'Publish a build' }}>
    <p>${game.playable ? 'Upload a folder with an index.html, and this page becomes the game.' : 'It is closed: its settings open it again.'}</p>
  <//>`

const paragraphs = (text: string): Content =>
  text
    .split(/\n\s*\n/)
    .filter((part) => part.trim())
    .map((part) => html`<p dir="auto">${part.trim()}</p>`)

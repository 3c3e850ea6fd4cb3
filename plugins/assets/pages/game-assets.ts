import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  CodeBlock,
  EmptyState,
  Grid,
  html,
  Pagination,
  renderPage,
  Section,
  Stack,
  type View,
} from '../../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../../games/index.ts'
import type { AssetRecord } from '../record.ts'
import { AssetQuery } from '../schemas.ts'
import { assetCard } from './library.ts'

const PER_PAGE = 24
/** The most assets in the text of the credits. */
const MOST_ATTRIBUTIONS = 500

/** Returns the path of the page with the assets of a game. */
export const assetsOf = ({ slug }: Pick<Game, 'slug'>): string => `/games/${slug}/assets`

/** The tab *Assets* of a game's dashboard. */
export const gamePages: Routes = async (app) => {
  app.get(
    '/games/:slug/assets',
    {
      config: { auth: 'session', page: true },
      constraints: { origin: 'portal' },
      schema: {
        params: Type.Object({ slug: Type.String({ maxLength: 63 }) }),
        querystring: Type.Object({ cursor: AssetQuery.properties.cursor }),
      },
    },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const game = await app.games.mustMake(playerId, request.params.slug)
      const query = { ...request.query, limit: PER_PAGE }
      const page = await app.assets.library.page(query, null, { files: false, gameId: game.id })
      const attributions = await app.assets.library.attributionsOf(game.id, MOST_ATTRIBUTIONS)
      const owners = await app.identity.players.namesOf([...new Set(page.assets.map(({ ownerId }) => ownerId))])
      return renderPage(reply, {
        title: `Assets of ${game.title}`,
        user: viewer,
        body: gameAssets(app, game, { ...page, owners, attributions, cursor: request.query.cursor }),
      })
    },
  )
}

interface GameAssets {
  assets: AssetRecord[]
  nextCursor: string | null
  owners: ReadonlyMap<string, string>
  attributions: string[]
  cursor: string | undefined
}

function gameAssets(
  app: FastifyInstance,
  game: Game,
  { assets, nextCursor, owners, attributions, cursor }: GameAssets,
): View {
  const path = assetsOf(game)
  const upload = `/assets/new?game=${game.slug}`
  const isEmpty = assets.length === 0 && !cursor
  return html`
    ${dashboardHeader(app, game, path, isEmpty ? undefined : html`<${Button} kind="act" href=${upload}>Upload<//>`)}
    ${
      isEmpty
        ? html`<${EmptyState} title="No assets yet" action=${{ href: upload, label: 'Upload the first' }}>
            <p>Models, pictures and sounds that everybody who makes this game may see and change. Uploaded one already? Choose the game on its page, under <em>Edit</em>.</p>
          <//>`
        : html`<${Stack}><p class="soft">Everybody who makes this game sees and changes these. What they store counts for the player who uploaded them.</p>
          <${Grid}>${assets.map((asset) => assetCard(asset, owners.get(asset.ownerId)))}<//><//>`
    }
    <${Pagination} label="Assets" next=${nextCursor && `${path}?cursor=${nextCursor}`} first=${cursor && path} />
    ${attributions.length > 0 && html`<${Section} title="Credits" description="For the game’s own page of credits. An asset with neither license nor author is not named here."><${CodeBlock} title="Text" code=${attributions.join('\n')} /><//>`}`
}

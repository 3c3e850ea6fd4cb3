import type { Routes } from '../../../core/http/routes.ts'
import { escapeXml, sendXml } from '../../../core/pages/sitemap.ts'
import type { Person } from '../members/schemas.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'

const NEWEST = 30

/** The newest public games as an Atom feed (RFC 4287). */
export const feed: Routes = async (app) => {
  const { portal } = app.origins

  const entry = (game: Game, makers: readonly Person[]) => {
    const address = escapeXml(portal + pathOf(game))
    const [language] = game.features.languages
    const picture = escapeXml(`${portal}${pathOf(game)}/card.png?v=${app.games.cards.ofGame(game).key}`)
    const text = `<p><img src="${picture}" alt=""></p><p>${escapeXml(game.description)}</p>`
    return `<entry>
  <id>tag:${new URL(portal).hostname},${game.createdAt.slice(0, 10)}:${game.id}</id>
  <title${language ? ` xml:lang="${escapeXml(language)}"` : ''}>${escapeXml(game.title)}</title>
  <link rel="alternate" type="text/html" href="${address}"/>
  <published>${game.createdAt}</published>
  <updated>${game.updatedAt}</updated>
${makers.map(({ name }) => `  <author><name>${escapeXml(name)}</name></author>\n`).join('')}${game.tags.map((tag) => `  <category term="${escapeXml(tag)}"/>\n`).join('')}  <content type="html">${escapeXml(text)}</content>
</entry>`
  }

  app.get(
    '/feed.xml',
    { config: { auth: 'none', text: true }, constraints: { origin: 'portal' }, schema: { hide: true } },
    async (request, reply) => {
      const { games } = await app.games.catalog.page({ sort: 'new', limit: NEWEST }, { ready: true })
      const makers = await app.games.members.makersOf(games)
      const changed =
        games
          .map(({ updatedAt }) => updatedAt)
          .sort()
          .at(-1) ?? new Date(0).toISOString()
      const body = `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${escapeXml(`${portal}/feed.xml`)}</id>
<title>${escapeXml(`New games on ${app.site.name}`)}</title>
<updated>${changed}</updated>
<author><name>${escapeXml(app.site.name)}</name></author>
<link rel="self" type="application/atom+xml" href="${escapeXml(`${portal}/feed.xml`)}"/>
<link rel="alternate" type="text/html" href="${escapeXml(`${portal}/`)}"/>
${games.map((game) => entry(game, makers.get(game.id) ?? [])).join('\n')}
</feed>
`
      return sendXml(request, reply, body, 'application/atom+xml; charset=utf-8')
    },
  )
}

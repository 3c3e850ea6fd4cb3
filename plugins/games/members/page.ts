import type { FastifyInstance, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { invalidField, isPlatformError } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { qrCode, qrPath } from '../../../core/images/qr-code.ts'
import {
  Avatar,
  Button,
  Card,
  Choices,
  type Column,
  Confirm,
  type Content,
  CopyValue,
  EmptyState,
  Field,
  Form,
  html,
  QrPicture,
  renderPage,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { dashboardHeader } from '../pages/dashboard.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import type { GameRole, MemberRole } from './roles.ts'
import type { Invitation, Member, Transfer } from './schemas.ts'
import { offerToViewer, type ReceiverQuotas, transferSection } from './transfer-page.ts'

const constraints = { origin: 'portal' } as const
const own = { config: { auth: 'session', page: true }, constraints } as const
const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const RoleField = Type.Union([Type.Literal('maker'), Type.Literal('tester')], {
  advice: 'Choose what they may do.',
})
const MakerField = Type.String({ maxLength: 30, advice: 'Choose one of the makers.' })
const MemberField = Type.String({ maxLength: 30 })
/** Names the link that an earlier version of the program made, in the form that ends it. */
const EARLIER = 'earlier'
/** The open invitations of a page; see `MOST_OPEN`. */
const LISTED = 50

/** What the forms for invitations send: `do` is `link` for a link; a script adds `player`, the id of a chosen player. */
const Invite = Type.Object({
  role: RoleField,
  do: Type.Optional(Type.String({ maxLength: 10 })),
  name: Type.Optional(Type.String({ maxLength: 254 })),
  player: Type.Optional(Type.String({ maxLength: 30 })),
})

/** `/games/:slug/team`: who makes and tests a game, and its open invitations. */
export const memberPages: Routes = async (app) => {
  const { members, memberInvitations: invitations, transfers } = app.games
  const slugOf = (request: FastifyRequest) => (request.params as { slug: string }).slug
  /** The caller is checked before the body is read. Another player's game counts as not found. */
  const owned = async (request: FastifyRequest) => {
    await app.games.mustOwn(callerOf(request).playerId, slugOf(request))
  }
  const made = async (request: FastifyRequest) => {
    await app.games.mustMake(callerOf(request).playerId, slugOf(request))
  }
  /** Returns the members who have a public page: guests and disabled players have none. */
  const pagesOf = async (team: readonly Member[]): Promise<ReadonlySet<string>> => {
    const credits = await app.identity.players.creditsOf(team.map(({ player }) => player.id))
    return new Set([...credits].filter(([, { hasPage }]) => hasPage).map(([id]) => id))
  }
  const teamOf = (slug: string) => `${pathOf({ slug })}/team`

  /** Returns who is meant: a player who was chosen in the list, an address, or the name of a player. */
  const invitedBy = async (form: { playerId: string; slug: string; name: string; player: string | undefined }) => {
    if (form.player) return { playerId: form.player }
    if (app.identity.sendsMail && form.name.includes('@')) return { email: form.name }
    return { playerId: await invitations.playerNamed(form.playerId, form.slug, form.name) }
  }

  app.get('/games/:slug/team', { ...own, schema: { params: Slug } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustMake(playerId, request.params.slug)
    const isOwner = app.games.may(playerId, game, 'own')
    const open = isOwner ? (await invitations.list(playerId, game.id, { limit: LISTED })).invitations : []
    const transfer = await transfers.openFor(playerId, game)
    const quotas = transfer && transfer.to.id === playerId ? await app.quotas.quotasOf(playerId) : null
    const earlier = isOwner ? await app.games.invitations.link(playerId, game.id) : null
    const team = await members.list(playerId, game.id)
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Team of ${game.title}`,
      user: viewer,
      scripts: isOwner ? ['people-chooser.js'] : [],
      body: teamPage(app, {
        game,
        playerId,
        members: team,
        open: await withCodes(open),
        transfer,
        quotas,
        earlier,
        withPage: await pagesOf(team),
      }),
    })
  })

  app.post(
    '/games/:slug/team/invitations',
    { ...own, onRequest: owned, schema: { params: Slug, body: Invite } },
    async (request, reply) => {
      const { slug } = request.params
      const { role, name = '', player, do: wanted } = request.body
      const { playerId } = callerOf(request)
      const invited = wanted === 'link' ? {} : await invitedBy({ playerId, slug, name, player })
      const { id } = await invitations.create(playerId, slug, { role, ...invited }).catch(atFieldOfName)
      return reply.redirect(`${teamOf(slug)}#${id}`, 303)
    },
  )

  app.post(
    '/games/:slug/team/revoke',
    { ...own, onRequest: owned, schema: { params: Slug, body: Type.Object({ invitation: MemberField }) } },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      const { slug } = request.params
      if (request.body.invitation === EARLIER) await app.games.invitations.revoke(playerId, slug)
      else await invitations.revoke(playerId, slug, request.body.invitation)
      return reply.redirect(`${teamOf(request.params.slug)}#invitations`, 303)
    },
  )

  app.post(
    '/games/:slug/team/role',
    { ...own, onRequest: owned, schema: { params: Slug, body: Type.Object({ member: MemberField, role: RoleField }) } },
    async (request, reply) => {
      const { member, role } = request.body
      await members.change(callerOf(request).playerId, request.params.slug, member, role)
      return reply.redirect(teamOf(request.params.slug), 303)
    },
  )

  app.post(
    '/games/:slug/team/remove',
    {
      ...own,
      // Everybody in the team may leave it.
      onRequest: async (request) => {
        await app.games.mustTest(callerOf(request).playerId, slugOf(request))
      },
      schema: { params: Slug, body: Type.Object({ member: MemberField }) },
    },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      await members.remove(playerId, request.params.slug, request.body.member)
      return reply.redirect(request.body.member === playerId ? '/games' : teamOf(request.params.slug), 303)
    },
  )

  app.post(
    '/games/:slug/team/transfer',
    {
      ...own,
      onRequest: owned,
      preHandler: app.identity.recentSignIn('/games/:slug/team'),
      schema: { params: Slug, body: Type.Object({ maker: MakerField }) },
    },
    async (request, reply) => {
      await transfers.offer(callerOf(request).playerId, request.params.slug, request.body.maker)
      return reply.redirect(`${teamOf(request.params.slug)}#transfer`, 303)
    },
  )

  app.post(
    '/games/:slug/team/transfer/end',
    { ...own, onRequest: made, schema: { params: Slug } },
    async (request, reply) => {
      await transfers.end(callerOf(request).playerId, request.params.slug)
      return reply.redirect(teamOf(request.params.slug), 303)
    },
  )

  app.post(
    '/games/:slug/team/transfer/accept',
    { ...own, onRequest: made, schema: { params: Slug } },
    async (request, reply) => {
      await transfers.accept(callerOf(request).playerId, request.params.slug)
      return reply.redirect(teamOf(request.params.slug), 303)
    },
  )
}

/** The form has one field for names and addresses, and what is wrong stands there. */
function atFieldOfName(error: unknown): never {
  const fault = isPlatformError(error) && error.details?.find(({ path }) => path === 'email')
  throw fault ? invalidField('name', fault.message) : error
}

type WithCode = Invitation & { code: ReturnType<typeof qrPath> }

const withCodes = (open: readonly Invitation[]): Promise<WithCode[]> =>
  Promise.all(open.map(async (invitation) => ({ ...invitation, code: qrPath(await qrCode(invitation.url)) })))

interface TeamProps {
  game: Game
  /** The viewer. */
  playerId: string
  members: readonly Member[]
  /** The invitations that can be accepted; the owner's only. */
  open: readonly WithCode[]
  /** The offer of the game, if the viewer is its owner or can accept it. */
  transfer: Transfer | null
  /** What the viewer has and may have, who can accept the offer. */
  quotas: ReceiverQuotas | null
  /** The link that an earlier version of the program made; the owner's only. */
  earlier: string | null
  /** The members who have a public page. */
  withPage: ReadonlySet<string>
}

const ROLES: Record<GameRole, string> = { owner: 'owner', maker: 'maker', tester: 'tester' }

function teamPage(
  app: Pick<FastifyInstance, 'games' | 'origins' | 'identity'>,
  { game, playerId, members, open, earlier, transfer, quotas, withPage }: TeamProps,
): View {
  const path = `${pathOf(game)}/team`
  const isOwner = app.games.may(playerId, game, 'own')
  return html`
    ${dashboardHeader(app, game, path)}
    ${transfer && quotas && offerToViewer({ path, transfer, quotas })}
    <${Section} title="Members" description="Makers deploy and change the game as you do. Only its owner deletes it, changes its address and decides who is here.">
      <${Table} caption=${`Members of ${game.title}`} columns=${columnsOf({ path, playerId, isOwner, withPage })} rows=${members} />
    <//>
    ${isOwner && inviteSection({ game, path, open, earlier, alone: members.length === 1, mail: app.identity.sendsMail })}
    ${isOwner && transferSection({ path, transfer, makers: members.filter(({ role }) => role === 'maker') })}`
}

const columnsOf = ({
  path,
  playerId,
  isOwner,
  withPage,
}: {
  path: string
  playerId: string
  isOwner: boolean
  withPage: ReadonlySet<string>
}): Column<Member>[] => [
  {
    label: 'Player',
    cell: ({ player }) =>
      html`<span class="person"><${Avatar} name=${player.name} imageUrl=${player.imageUrl} size="s" />${withPage.has(player.id) ? html`<a href=${`/players/${player.id}`}><bdi>${player.name}</bdi></a>` : html`<bdi>${player.name}</bdi>`}${player.id === playerId && html`<span class="soft">you</span>`}</span>`,
  },
  { label: 'Role', cell: ({ role }) => ROLES[role] },
  {
    label: 'Since',
    cell: ({ since }) => (since ? html`<${Timestamp} at=${since} />` : html`<span class="soft">unknown</span>`),
  },
  {
    label: 'Actions',
    action: true,
    cell: (member) => actionsOf(member, { path, playerId, isOwner }),
  },
]

function actionsOf(
  { player, role }: Member,
  { path, playerId, isOwner }: { path: string; playerId: string; isOwner: boolean },
): Content {
  if (role === 'owner') return null
  const leaves = player.id === playerId
  if (!leaves && !isOwner) return null
  const other: MemberRole = role === 'maker' ? 'tester' : 'maker'
  const remove = leaves ? 'Leave' : 'Remove'
  return html`<span class="row">
    ${
      isOwner &&
      html`<${Form} action=${`${path}/role`}>
        <input type="hidden" name="member" value=${player.id} />
        <${Button} small name="role" value=${other} label=${`Make ${other}: ${player.name}`}>Make ${other}<//>
      <//>`
    }
    <${Confirm} small label=${remove} name=${`${remove} ${leaves ? 'this game' : player.name}`} action=${`${path}/remove`}>
      <p>${leaves ? 'You can no longer change this game.' : html`<bdi>${player.name}</bdi> can no longer change it.`} Deploys and everything else that is there stay.</p>
      <input type="hidden" name="member" value=${player.id} />
    <//>
  </span>`
}

const inviteSection = ({ game, path, open, earlier, alone, mail }: InviteProps): View => {
  const isFirst = alone && open.length === 0 && earlier === null
  return html`
  <${Section} layout="side" title="Invite" id="invitations" description="Makers work on the game as you do. Testers play it while it is private.">
    ${open.map((invitation, at) => openInvitation(path, invitation, at))}
    ${earlier && earlierLink(path, earlier)}
    ${
      isFirst
        ? html`<${Card}><${EmptyState} title="You make it alone"><p>Everybody who opens a link joins: send it, or let phones scan its code. It is for 20 players within two weeks.</p>${linkForm(path, isFirst)}<//><//>`
        : html`<${Card} title="By link" description="Everybody who opens it joins: 20 players within two weeks.">${linkForm(path, isFirst)}<//>`
    }
    <${Card} title="By name" description="For one player alone, who has an account here.">
      <${Form} action=${`${path}/invitations`}>
        <input type="hidden" name="do" value="invite" />
        <${Choices} legend="What may they do?" name="role" value="maker" options=${[
          { value: 'maker', label: 'Make', hint: 'Deploy, change settings, boards and media, and see all figures.' },
          { value: 'tester', label: 'Test', hint: 'Play it while it is private, and its previews.' },
        ]} />
        <div class="chooser" data-chooser=${`/api/games/${game.id}/invitations/players`}>
          ${
            mail
              ? html`<${Field} label="Name of a player, or an email address" name="name" hint="To an address goes a link for one player." maxlength=${254} autocomplete="off" />`
              : html`<${Field} label="Name of a player" name="name" maxlength=${254} autocomplete="off" />`
          }
        </div>
        <div class="form-actions"><${Button}>Invite<//></div>
      <//>
    <//>
  <//>`
}

/** Makes a link with one press. */
const linkForm = (path: string, isFirst: boolean): View => html`
  <${Form} action=${`${path}/invitations`}>
    <input type="hidden" name="do" value="link" />
    <div class="form-actions">
      <${Button} kind=${isFirst ? 'act' : 'plain'} name="role" value="maker">Create a link for makers<//>
      <${Button} name="role" value="tester">For testers<//>
    </div>
  <//>`

interface InviteProps {
  game: Game
  path: string
  open: readonly WithCode[]
  earlier: string | null
  /** Whether the game has no members. */
  alone: boolean
  /** Whether the platform sends mail. */
  mail: boolean
}

const earlierLink = (path: string, link: string): View => html`
  <${Card} title="Earlier link for testers">
    <p class="soft">Everybody who opens it while the game is private becomes a tester, until you take it back.</p>
    <${CopyValue} value=${link} label="earlier invitation link" />
    <div class="row"><${Form} action=${`${path}/revoke`}><${Button} small kind="danger" name="invitation" value=${EARLIER} label="Take back the earlier link">Take back<//><//></div>
  <//>`

function openInvitation(
  path: string,
  { id, url, role, player, email, usesLeft, expiresAt, code }: WithCode,
  at: number,
): View {
  const takeBack = `Take back the invitation of ${player?.name ?? email ?? `a ${role}`}`
  const title = player
    ? html`<span class="person"><${Avatar} name=${player.name} imageUrl=${player.imageUrl} size="s" /><span><bdi>${player.name}</bdi> as ${role}</span></span>`
    : email
      ? html`<bdi>${email}</bdi> as ${role}`
      : `Link for ${role === 'maker' ? 'makers' : 'testers'}`
  const until = html`<${Timestamp} at=${expiresAt} />`
  return html`
    <div id=${id}><${Card} title=${title}>
      ${
        player
          ? html`<p class="soft">Has not answered yet. The invitation is among their messages until ${until}</p>`
          : email
            ? html`<p class="soft">A link was sent there. It is for the first player who opens it, until ${until}</p>`
            : html`<p class="soft">For ${usesLeft} ${usesLeft === 1 ? 'player' : 'players'}, until ${until}</p>
            <${CopyValue} value=${url} label=${`invitation of a ${role}`} />`
      }
      <div class="row">
        ${!player && !email && html`<details class="confirm invite" open=${at === 0}><summary class="button small">QR code</summary><div class="confirm-body plain"><${QrPicture} ...${code} label="QR code of the invitation" /></div></details>`}
        <${Form} action=${`${path}/revoke`}><${Button} small kind="danger" name="invitation" value=${id} label=${takeBack}>Take back<//><//>
      </div>
    <//></div>`
}

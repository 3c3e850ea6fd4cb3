import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Avatar,
  Button,
  Card,
  type Content,
  Field,
  Form,
  html,
  PageHeader,
  renderPage,
  Section,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { ProofOfWork } from '../../oauth-idp/index.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { isNew, type ReceivedInvitation } from './invitations.ts'
import type { GameRole, MemberRole } from './roles.ts'

const constraints = { origin: 'portal' } as const
const open = { config: { auth: 'optional', page: true, secretPath: true }, constraints } as const
const secret = { config: { auth: 'session', page: true, secretPath: true }, constraints } as const
const Link = Type.Object({ id: Type.String({ maxLength: 30 }), key: Type.String({ maxLength: 100 }) })

/** `/invitations/:id/:key`: the page of an invitation, on which a player joins or declines. */
export const invitationPages: Routes = async (app) => {
  const { members, memberInvitations: invitations } = app.games

  app.get('/invitations/:id/:key', { ...open, schema: { params: Link } }, async (request, reply) => {
    const viewer = request.principal?.viewer
    const { id, key } = request.params
    const { game, row } = await invitations.find(viewer?.id ?? null, id, key)
    const owner = (await members.people([game.ownerId])).get(game.ownerId)
    const before = viewer ? app.games.roleOf(viewer.id, game) : null
    const { players, signUp } = app.identity
    reply.header('referrer-policy', 'no-referrer').header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Invitation to ${game.title}`,
      user: viewer,
      narrow: true,
      head: html`<meta name="robots" content="noindex" />`,
      scripts: !viewer && signUp.takesGuests ? signUp.challenge.scripts : [],
      body: invitationPage({
        game,
        from: owner?.name ?? 'Somebody',
        role: row.role,
        before,
        action: `/invitations/${id}/${key}`,
        isPersonal: row.playerId !== null,
        visitor: viewer
          ? null
          : {
              signUpIsOpen: players.signUpIsOpen,
              guests: signUp.takesGuests,
              needsWork: signUp.challenge.isRequired,
            },
      }),
    })
  })

  app.post('/invitations/:id/:key', { ...secret, schema: { params: Link } }, async (request, reply) => {
    const { playerId } = callerOf(request)
    const { game, role } = await invitations.accept(playerId, request.params.id, request.params.key)
    return reply.redirect(role === 'maker' ? `${pathOf(game)}/overview?joined` : pathOf(game), 303)
  })

  app.post('/invitations/:id/:key/decline', { ...secret, schema: { params: Link } }, async (request, reply) => {
    const { id, key } = request.params
    await invitations.decline(callerOf(request).playerId, id, key)
    return reply.redirect('/games', 303)
  })
}

/** Renders the invitations of a player with their answers, for the pages that list them; null when there is none. */
export const receivedInvitations = (received: readonly ReceivedInvitation[]): Content =>
  received.length > 0 &&
  html`<${Section} title="Invitations" id="invitations">${received.map(
    ({ path, role, from, game, expiresAt }) => html`
    <${Card} title=${html`<bdi>${game.title}</bdi>`} description=${html`Until <${Timestamp} at=${expiresAt} />`}>
      <p class="person"><${Avatar} name=${from.name} imageUrl=${from.imageUrl} size="s" /><span><bdi>${from.name}</bdi> invites you to ${WORDS[role]}.</span></p>
      <div class="row">
        <${Form} action=${path}><${Button} label=${`Join ${game.title}`}>Join<//><//>
        <${Form} action=${`${path}/decline`}><${Button} kind="quiet" label=${`Decline the invitation to ${game.title}`}>Decline<//><//>
      </div>
    <//>`,
  )}<//>`

const WORDS: Record<MemberRole, string> = { maker: 'make this game together', tester: 'test this game' }

interface InvitationProps {
  game: Game
  /** The name of the owner. */
  from: string
  role: MemberRole
  /** The viewer's role so far. */
  before: GameRole | null
  action: string
  /** Whether it is for the viewer alone, who may decline it. */
  isPersonal: boolean
  /** How a viewer who is not signed in can come in; null for a player. */
  visitor: VisitorOptions | null
}

interface VisitorOptions {
  signUpIsOpen: boolean
  /** Whether a name alone is enough. */
  guests: boolean
  /** Whether a guest needs a proof of work. */
  needsWork: boolean
}

function invitationPage({ game, from, role, before, action, isPersonal, visitor }: InvitationProps): View {
  const lede = isNew(before, role)
    ? html`<bdi>${from}</bdi> invites you to ${WORDS[role]}.`
    : `You are in this game already, as its ${before}.`
  return html`<${PageHeader} title=${game.title} lede=${lede} />
    ${
      visitor
        ? waysIn(action, visitor)
        : isNew(before, role)
          ? html`<div class="row">
            <${Form} action=${action} submit="Join"><//>
            ${isPersonal && html`<${Form} action=${`${action}/decline`} submit="Decline" kind="plain"><//>`}
          </div>`
          : html`<${Button} href=${before === 'tester' ? pathOf(game) : `${pathOf(game)}/overview`}>Open the game<//>`
    }`
}

/** Every way leads back to the invitation, which is then accepted with one press. */
function waysIn(path: string, { signUpIsOpen, guests, needsWork }: VisitorOptions): View {
  const way = (page: string) => `${page}?returnTo=${encodeURIComponent(path)}`
  return html`
    <div class="row">
      ${signUpIsOpen && html`<${Button} kind="act" href=${way('/sign-up')}>Create an account<//>`}
      <${Button} kind=${signUpIsOpen ? 'plain' : 'act'} href=${way('/sign-in')}>${signUpIsOpen ? 'I have one: sign in' : 'Sign in'}<//>
    </div>
    ${
      guests &&
      html`<${Card} title="Only for today?" description="A name is enough. You can turn it into an account later, and stay in the team.">
        <${Form} action="/guest" submit="Go on as a guest" kind="plain">
          <input type="hidden" name="returnTo" value=${path} />
          <${Field} label="Name" name="name" required maxlength=${60} autocomplete="nickname" />
          ${needsWork && html`<${ProofOfWork} />`}
        <//>
      <//>`
    }`
}

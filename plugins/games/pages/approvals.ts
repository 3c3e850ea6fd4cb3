import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { actorOf, callerOf, staffPage } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  Card,
  Checkbox,
  EmptyState,
  Field,
  Form,
  html,
  Notice,
  PageHeader,
  Row,
  renderPage,
  Section,
  Stack,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { LISTED, type PublishMode, REFUSAL_LENGTH } from '../approvals.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { idsOfMakers, makersForStaff } from './host.ts'

const PATH = '/admin/approvals'
const Params = Type.Object({ id: Type.String({ maxLength: 40 }) })

/** The messages after a decision. The address contains only its name. */
const DONE: Record<string, string> = {
  approve: 'Published. Its maker has been told.',
  refuse: 'Refused. Its maker has been told why.',
  refuseAll: 'All waiting games of this maker are refused. The maker has been told why.',
}

/** The page of games that wait for staff (`games.publish`). */
export const approvalPages: Routes = async (app) => {
  const { approvals } = app.games

  const page = async (request: FastifyRequest, reply: FastifyReply, problem?: { id: string; message: string }) => {
    const [waiting, refused, counts] = await Promise.all([
      approvals.list('waiting'),
      approvals.list('refused'),
      approvals.waiting(),
    ])
    const names = await app.identity.players.namesOf(idsOfMakers([...waiting, ...refused]))
    const { done } = request.query as { done?: string }
    const message = done === undefined ? undefined : DONE[done]
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'Approvals',
      current: PATH,
      user: callerOf(request).viewer,
      status: problem ? 400 : 200,
      flash: message ? { message } : null,
      body: ApprovalsPage({ mode: approvals.mode, waiting, refused, counts, names, problem }),
    })
  }

  app.get(
    PATH,
    { ...staffPage, schema: { querystring: Type.Object({ done: Type.Optional(Type.String({ maxLength: 10 })) }) } },
    (request, reply) => page(request, reply),
  )

  app.post(`${PATH}/:id/approve`, { ...staffPage, schema: { params: Params } }, async (request, reply) => {
    await approvals.approve(request.params.id, actorOf(request))
    return reply.redirect(`${PATH}?done=approve`, 303)
  })

  app.post(`${PATH}/:id/review`, { ...staffPage, schema: { params: Params } }, async (request, reply) => {
    const game = await approvals.review(request.params.id, actorOf(request))
    return reply.redirect(pathOf(game), 303)
  })

  app.post(
    `${PATH}/:id/refuse`,
    {
      ...staffPage,
      schema: {
        params: Params,
        body: Type.Object({
          reason: Type.Optional(Type.String({ maxLength: 4096 })),
          all: Type.Optional(Type.Literal('on')),
        }),
      },
    },
    async (request, reply) => {
      const reason = request.body.reason?.trim()
      const { id } = request.params
      if (!reason) return page(request, reply, { id, message: 'Give the reason. The maker reads it.' })
      if (request.body.all) {
        await approvals.refuseWithOthers(id, reason, actorOf(request))
        return reply.redirect(`${PATH}?done=refuseAll`, 303)
      }
      await approvals.refuse(id, reason, actorOf(request))
      return reply.redirect(`${PATH}?done=refuse`, 303)
    },
  )
}

interface ApprovalsPageProps {
  mode: PublishMode
  waiting: Game[]
  refused: Game[]
  /** The number of waiting games by owner. */
  counts: ReadonlyMap<string, number>
  /** Names by id. */
  names: ReadonlyMap<string, string>
  problem: { id: string; message: string } | undefined
}

const LEDES: Record<PublishMode, string> = {
  open: 'Every player may publish. Set games.publish to approve or trusted to look at new games first.',
  approve: 'The first game of a new account waits here until you approve it. Only its maker can open it.',
  trusted: 'Only players whom you trust publish. The games of others wait here.',
}

function ApprovalsPage({ mode, waiting, refused, counts, names, problem }: ApprovalsPageProps): View {
  const entry = (game: Game) => Entry({ game, counts, names, problem })
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return html`
    <${PageHeader} title="Approvals" lede=${LEDES[mode]} />
    <${Stack}>
      ${waiting.length === 0 ? html`<${EmptyState} title="Nothing is waiting">New games appear here, the oldest first.<//>` : waiting.map(entry)}
      ${all > waiting.length && html`<p class="soft">These are the oldest ${waiting.length} of ${all}. The others follow as you decide.</p>`}
      ${refused.length > 0 && html`<${Section} title="Refused" description=${`You can still approve them.${refused.length === LISTED ? ` These are the newest ${LISTED}.` : ''}`}>${refused.map(entry)}<//>`}
    <//>`
}

function Entry({
  game,
  counts,
  names,
  problem,
}: Pick<ApprovalsPageProps, 'counts' | 'names' | 'problem'> & { game: Game }): View {
  const others = (counts.get(game.ownerId) ?? 1) - 1
  const path = `${PATH}/${game.id}`
  const message = problem?.id === game.id ? problem.message : undefined
  return html`
    <${Card} title=${game.title}>
      <p class="soft">by ${makersForStaff(game, names)} · for ${game.approval?.visibility === 'private' ? 'invited players' : 'everyone'} · <${Timestamp} at=${game.createdAt} />${!game.hosted && html` · <bdi>${game.url}</bdi>`}${game.hosted && !game.liveDeployId && ' · nothing uploaded yet'}</p>
      ${game.description && html`<p>${game.description.slice(0, 400)}</p>`}
      ${game.approval?.state === 'refused' && html`<${Notice} tone="info">Refused: ${game.approval.reason}<//>`}
      <${Row}>
        <${Form} action=${`${path}/approve`} inline><${Button} label=${`Approve: ${game.title}`}>Approve<//><//>
        <${Form} action=${`${path}/review`} inline><${Button} label=${`Open it: ${game.title}`}>Open it<//><//>
      <//>
      ${
        game.approval?.state === 'waiting' &&
        html`<${Form} action=${`${path}/refuse`}>
          <${Field} label="Reason" name="reason" id=${`reason-${game.id}`} type="textarea" rows=${2} required maxlength=${REFUSAL_LENGTH} error=${message}
            hint="Its maker reads this." />
          ${others > 0 && html`<${Checkbox} label=${others === 1 ? 'Refuse also the other waiting game of this maker' : `Refuse also the ${others} other waiting games of this maker`} name="all" id=${`all-${game.id}`} value="on" />`}
          <${Row}><${Button} label=${`Refuse: ${game.title}`}>Refuse<//><//>
        <//>`
      }
    <//>`
}

/** Adds the number of waiting games to the first page of administrators, where games wait. */
export function contributeApprovals({ hostDashboard, games }: FastifyInstance): void {
  if (games.approvals.mode === 'open') return
  hostDashboard.stats.push({
    label: 'wait for approval',
    order: 25,
    value: async () => [...(await games.approvals.waiting()).values()].reduce((sum, count) => sum + count, 0),
  })
}

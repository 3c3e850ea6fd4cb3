import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../../core/errors.ts'
import { bodyWithText } from '../../../core/http/limits/body-limits.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  Choices,
  Field,
  Form,
  html,
  PageHeader,
  Row,
  renderPage,
  type View,
} from '../../../core/pages/index.ts'
import type { TargetRef } from '../reports/targets.ts'
import { CATEGORIES, type Category, TARGET_KINDS, type TargetKind, TEXT_LENGTH } from '../schemas.ts'
import { CATEGORY_NAMES } from '../words.ts'

const constraints = { origin: 'portal' } as const
const Body = Type.Object({
  category: Type.Optional(Type.String({ maxLength: 12 })),
  text: Type.Optional(Type.String({ maxLength: 3 * TEXT_LENGTH })),
})
const Query = Type.Object({ sent: Type.Optional(Type.String({ maxLength: 10 })) })

/** The parameter of the address of a thing's page. */
const PARAMETERS: Record<TargetKind, 'slug' | 'id'> = { game: 'slug', asset: 'slug', player: 'id' }

/** Returns the path of the form that reports a thing. @param id the last part of the address of its page */
export const reportPath = (kind: TargetKind, id: string): string => `/${kind}s/${id}/report`

interface Refusal {
  status: number
  category?: string | undefined
  text?: string | undefined
  /** What is wrong, by field; '' for the whole form. */
  problems: Record<string, string>
}

/** The form beside each game, asset and player, for everybody. */
export const reportPages: Routes = async (app) => {
  const { targets, reports } = app.moderation

  const show = async (request: FastifyRequest, reply: FastifyReply, ref: TargetRef, refusal?: Refusal) => {
    const { title } = await targets.forReporter(ref, request.principal?.playerId ?? null)
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Report ${title}`,
      current: '',
      user: request.principal?.viewer,
      narrow: true,
      status: refusal?.status ?? 200,
      head: html`<meta name="robots" content="noindex" />`,
      body: ReportForm({ ref, title, refusal, anonymous: request.principal === null }),
    })
  }

  for (const kind of TARGET_KINDS) {
    const name = PARAMETERS[kind]
    const path = reportPath(kind, `:${name}`)
    const Params = Type.Object({ [name]: Type.String({ maxLength: 63 }) } as Record<
      'slug' | 'id',
      ReturnType<typeof Type.String>
    >)
    const refOf = (request: { params: Partial<Record<'slug' | 'id', string>> }): TargetRef => ({
      kind,
      id: request.params[name] ?? '',
    })

    app.get(
      path,
      { config: { auth: 'optional', page: true }, constraints, schema: { params: Params, querystring: Query } },
      async (request, reply) => {
        const ref = refOf(request)
        if (request.query.sent === undefined) return show(request, reply, ref)
        return renderPage(reply, {
          title: 'Thank you',
          current: '',
          user: request.principal?.viewer,
          narrow: true,
          body: Thanks(ref, request.principal !== null),
        })
      },
    )

    app.post(
      path,
      {
        config: { auth: 'optional', page: true, sameOrigin: true },
        constraints,
        bodyLimit: bodyWithText(TEXT_LENGTH),
        schema: { params: Params, body: Body },
      },
      async (request, reply) => {
        const ref = refOf(request)
        const { category, text = '' } = request.body
        const refuse = (status: number, problems: Record<string, string>) =>
          show(request, reply, ref, { status, category, text, problems })
        if (!isCategory(category)) return refuse(400, { category: 'Choose what it is about.' })
        if (text.length > TEXT_LENGTH) return refuse(400, { text: `Use at most ${TEXT_LENGTH} characters.` })
        try {
          const reporter = { playerId: request.principal?.playerId ?? null, address: callerAddress(request) }
          await reports.file(ref, { category, text }, reporter)
        } catch (error) {
          if (!isPlatformError(error) || ![400, 409, 429].includes(error.statusCode)) throw error
          reply.headers(error.headers ?? {})
          return refuse(error.statusCode, { [error.details?.[0]?.path ?? '']: error.message })
        }
        return reply.redirect(`${reportPath(kind, encodeURIComponent(ref.id))}?sent=1`, 303)
      },
    )
  }
}

const isCategory = (value: string | undefined): value is Category => CATEGORIES.some((category) => category === value)

interface ReportFormProps {
  ref: TargetRef
  title: string
  refusal: Refusal | undefined
  /** Whether nobody is signed in. */
  anonymous: boolean
}

function ReportForm({ ref, title, refusal, anonymous }: ReportFormProps): View {
  const { problems = {}, category, text } = refusal ?? {}
  const told = anonymous
    ? 'You are not signed in, so nobody can tell you what comes of it.'
    : 'You are told what comes of it. Its owner does not see who you are.'
  return html`
    <${PageHeader} title=${`Report ${title}`} lede=${`The people who look after this platform read it. ${told}`}
      crumbs=${[{ label: title, href: `/${ref.kind}s/${ref.id}` }]} />
    <${Form} action=${reportPath(ref.kind, ref.id)} submit="Send the report" error=${problems['']}
      beside=${html`<${Button} kind="quiet" href=${`/${ref.kind}s/${ref.id}`}>Cancel<//>`}>
      <${Choices} legend="What is it about?" name="category" value=${category} error=${problems.category}
        options=${CATEGORIES.map((value) => ({ value, label: CATEGORY_NAMES[value] }))} />
      <${Field} label="What is wrong?" name="text" type="textarea" rows=${5} required maxlength=${TEXT_LENGTH}
        value=${text} error=${problems.text} hint="Say where it is, so that somebody else finds it." />
    <//>`
}

const Thanks = ({ kind, id }: TargetRef, signedIn: boolean): View => html`
  <${PageHeader} title="Thank you" lede=${`Your report is with the people who look after this platform.${signedIn ? ' You find the outcome under Settings, Messages.' : ''}`} />
  <${Row}><${Button} kind="act" href=${`/${kind}s/${id}`}>Back<//><//>`

import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../core/errors.ts'
import { actorOf, callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { html, renderPage } from '../../core/pages/index.ts'
import { boardsOfGames } from '../scores/index.ts'
import { deadlineOf } from './deadline.ts'
import { CHANGES, FollowJam, versionOf } from './follow-jam.ts'
import { FormerJamPage, FormerJamsPage } from './former-jams.ts'
import { JamPage, NoJamPage, VOTED_JAM } from './jam-page.ts'
import { ResultsPage } from './results-page.ts'

const constraints = { origin: 'portal' } as const
const open = { config: { auth: 'optional', page: true }, constraints } as const
const own = { config: { auth: 'session', page: true }, constraints } as const
const organises = { ...own, config: { ...own.config, role: 'admin' } } as const

const Text = Type.Optional(Type.String({ maxLength: 2000 }))
const Query = Type.Object({ done: Text, refused: Text })

/** An empty input of the type `datetime-local`, or a time in UTC. */
const FieldTime = Type.String({
  pattern: '^(2\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d)?$',
  advice: 'Enter a day and a time.',
})

/** The messages after a step. The address contains only the name of the step. */
const DONE: Record<string, string> = {
  begun: 'The jam has begun. Submissions are open.',
  saved: 'Saved.',
  submitted: 'Your game takes part.',
  withdrawn: 'The game is out.',
  voted: 'Your votes are in. You can change them until voting closes.',
  'submissions-open': 'Submissions are open.',
  'submissions-closed': 'Submissions are closed.',
  'voting-open': 'Voting is open.',
  'voting-closed': 'Voting is closed. Reveal the results on the projector.',
}

/** The maximum number of games whose boards the page shows. */
const BOARDS = 9

/** The jam on the portal. Every action is a form; the script only updates the page. */
export const pages: Routes = async (app) => {
  app.get('/jam', { ...open, schema: { querystring: Query } }, async (request, reply) => {
    const viewer = request.principal?.viewer ?? null
    const jam = await app.jams.current()
    const now = app.clock.now()
    const { done = '', refused = '' } = request.query
    const trouble = GONE.includes(refused) && TROUBLE[refused]
    const shell = {
      title: jam?.title ?? 'Game jam',
      current: '/jam',
      user: viewer,
      scripts: ['jam-live.js'],
      flash: trouble ? { tone: 'error' as const, message: trouble } : DONE[done] ? { message: DONE[done] } : null,
    }
    if (!jam)
      return renderPage(reply, {
        ...shell,
        body: [html`<${FollowJam} jam=${null} whole />`, NoJamPage({ isAdmin: viewer?.isAdmin ?? false, now })],
      })
    const [entries, voters, votes, mine, entered, hasFormer] = await Promise.all([
      app.jams.entries(jam.id),
      app.jams.voters(jam.id),
      viewer ? app.jams.votesOf(viewer.id, jam.id) : {},
      viewer ? app.games.list(viewer.id, { limit: 100 }) : { games: [] },
      viewer ? app.jams.entered(jam.id) : new Set<string>(),
      app.jams.hasFormer(),
    ])
    const games = mine.games.map((game) => ({
      game,
      takesPart: entered.has(game.id),
      isShown: app.games.isReady(game) && app.games.isShown(game),
    }))
    const boards = await boardsOfGames(app, entries, { playerId: viewer?.id ?? null, most: BOARDS })
    return renderPage(reply, {
      ...shell,
      description: jam.theme || `The games of ${jam.title}.`,
      body: [
        html`<${FollowJam} jam=${jam} whole choices=${entries.map(({ gameId }) => gameId)} />`,
        JamPage({
          jam,
          now,
          entries,
          boards,
          voters,
          votes,
          viewer,
          mine: games.filter(({ takesPart, isShown }) => takesPart || isShown),
          guests: app.identity.signUp.takesGuests,
          hasFormer,
        }),
      ],
    })
  })

  app.get('/jam/results', { ...open, schema: { querystring: Query } }, async (request, reply) => {
    const viewer = request.principal?.viewer ?? null
    const jam = await app.jams.current()
    if (!jam) return reply.redirect('/jam', 303)
    return renderPage(reply, {
      title: `Results of ${jam.title}`,
      current: '/jam',
      user: viewer,
      scripts: ['jam-live.js'],
      body: [
        html`<${FollowJam} jam=${jam} />`,
        ResultsPage({
          jam,
          now: app.clock.now(),
          results: await app.jams.results(),
          isAdmin: viewer?.isAdmin ?? false,
        }),
      ],
    })
  })

  app.get('/jam/past', open, async (request, reply) =>
    renderPage(reply, {
      title: 'Former jams',
      current: '/jam',
      user: request.principal?.viewer ?? null,
      body: FormerJamsPage({ jams: await app.jams.former() }),
    }),
  )

  const JamParams = Type.Object({ jamId: Type.String({ maxLength: 30 }) })

  app.get('/jam/past/:jamId', { ...open, schema: { params: JamParams } }, async (request, reply) => {
    const results = await app.jams.results(request.params.jamId)
    return renderPage(reply, {
      title: `Results of ${results.title}`,
      current: '/jam',
      user: request.principal?.viewer ?? null,
      body: FormerJamPage({ results }),
    })
  })

  app.get('/live/jam', { config: { auth: 'none' }, constraints, schema: { hide: true } }, async (_request, reply) => {
    const look = async () => ({ event: 'parts', data: { [CHANGES]: versionOf(await app.jams.current()) } })
    return app.eventStreams.send(reply, { key: CHANGES, shows: CHANGES, look })
  })
  app.events.on('jam.changed', () => app.eventStreams.wake(CHANGES))

  const Settings = Type.Object({ title: Text, theme: Text, categories: Text, deadline: Type.Optional(FieldTime) })

  app.post('/jam', { ...organises, schema: { body: Settings } }, async (request, reply) =>
    act(reply, 'begun', async () => {
      await app.jams.create(settingsOf(request.body), actorOf(request))
    }),
  )

  app.post('/jam/settings', { ...organises, schema: { body: Settings } }, async (request, reply) =>
    act(reply, 'saved', async () => {
      await app.jams.change(settingsOf(request.body), actorOf(request))
    }),
  )

  const Switch = Type.Object({ what: Type.Union([Type.Literal('submissions'), Type.Literal('voting')]), to: Text })

  app.post('/jam/switch', { ...organises, schema: { body: Switch } }, async (request, reply) => {
    const { what, to } = request.body
    const on = to === 'open'
    return act(reply, `${what}-${on ? 'open' : 'closed'}`, async () => {
      await app.jams.change(what === 'submissions' ? { submissionsOpen: on } : { votingOpen: on }, actorOf(request))
    })
  })

  app.post(
    '/jam/results',
    {
      ...organises,
      schema: {
        body: Type.Object({ revealed: Type.String({ pattern: '^\\d{1,4}$', advice: 'Enter a whole number.' }) }),
      },
    },
    async (request, reply) => {
      await app.jams.change({ revealed: Number(request.body.revealed) }, actorOf(request))
      return reply.redirect('/jam/results', 303)
    },
  )

  const Choice = Type.Object({ gameId: Type.String({ maxLength: 63 }) })

  app.post('/jam/entries', { ...own, schema: { body: Choice } }, async (request, reply) =>
    act(reply, 'submitted', () => app.jams.submit(callerOf(request).playerId, request.body.gameId)),
  )

  app.post('/jam/entries/withdraw', { ...own, schema: { body: Choice } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const organiser = viewer?.isAdmin === true
    return act(reply, 'withdrawn', () => app.jams.withdraw(playerId, request.body.gameId, { organiser }))
  })

  app.post(
    '/jam/votes',
    {
      ...own,
      schema: {
        body: Type.Record(Type.String({ maxLength: 60 }), Type.String({ maxLength: 63 }), { maxProperties: 9 }),
      },
    },
    async (request, reply) => {
      const { [VOTED_JAM]: jamId, ...fields } = request.body as Record<string, string>
      const choices = Object.entries(fields).map(([categoryId, gameId]): [string, string | null] => [
        categoryId,
        gameId === '' ? null : gameId,
      ])
      return act(reply, 'voted', () => app.jams.vote(callerOf(request).playerId, Object.fromEntries(choices), jamId))
    },
  )
}

/** Common refusals, in the words of the page. */
const TROUBLE: Record<string, string> = {
  submissions_closed: 'Submissions are closed by now. Nothing was changed; ask the organiser.',
  entries_fixed: 'People vote or have voted on the games. Ask the organiser to take yours out.',
  voting_closed: 'Voting is closed by now; your last votes count.',
  entry_gone: 'That game is no longer in the jam, so nothing was changed. Reload the page to choose another.',
  category_gone: 'The categories have changed, so nothing was changed. Reload the page to vote in the new ones.',
  jam_over: 'That jam has ended, and its votes stay as they were. Reload the page to see the new jam.',
  own_game: 'You can vote for any game but your own.',
  not_playable: 'Publish a build first, and make the game public.',
  categories_fixed: 'People have voted already, so the categories stay as they are. Start a new jam for others.',
  still_voting: 'Close the voting before results are shown.',
  results_shown: 'Hide the results before people vote again.',
}

/** Refusals of forms that the page no longer has. The page itself says so above. */
const GONE = ['submissions_closed', 'voting_closed', 'entries_fixed', 'entry_gone', 'category_gone', 'jam_over']

async function act(reply: FastifyReply, done: string, work: () => Promise<void>): Promise<FastifyReply> {
  try {
    await work()
  } catch (error) {
    const key = isPlatformError(error) ? error.code : ''
    if (GONE.includes(key)) return reply.redirect(`/jam?refused=${key}`, 303)
    const message = TROUBLE[key]
    throw message ? Object.assign(error as Error, { message }) : error
  }
  return reply.redirect(`/jam?done=${done}`, 303)
}

interface SettingsFields {
  title?: string
  theme?: string
  categories?: string
  deadline?: string
}

/** A form sends every field. An empty field gets a default; without the field the deadline stays. */
function settingsOf({ title = '', theme = '', categories = '', deadline }: SettingsFields) {
  const names = categories
    .split(/[\n,]/)
    .map((name) => name.trim().slice(0, 60))
    .filter((name) => name !== '')
    .slice(0, 8)
  return {
    title: title.trim().slice(0, 120) || 'Game jam',
    theme: theme.trim().slice(0, 200),
    ...(names.length > 0 ? { categories: names } : {}),
    ...(deadline === undefined ? {} : { deadline: deadlineOf(deadline) }),
  }
}

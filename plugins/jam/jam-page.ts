import {
  AvatarGroup,
  Button,
  Card,
  Chip,
  Confirm,
  type Content,
  Cover,
  EmptyState,
  Field,
  Form,
  html,
  Note,
  PageHeader,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../core/pages/index.ts'
import type { Game } from '../games/index.ts'
import { Deadline, fieldOf, isLate } from './deadline.ts'
import type { Entry } from './jams.ts'
import type { Jam, Votes } from './schemas.ts'

/** A game of the viewer. */
interface OwnGame {
  game: Game
  takesPart: boolean
  /** Whether everybody may see it. */
  isShown: boolean
}

interface JamProps {
  jam: Jam
  /** The time of the server. */
  now: Date
  entries: Entry[]
  /** The leaderboards of the games; nothing when no game has one. */
  boards: Content
  voters: number
  votes: Votes
  viewer: { id: string; isAdmin: boolean } | null
  /** The viewer's own games that take part or could. */
  mine: OwnGame[]
  guests: boolean
  hasFormer: boolean
}

/** The field with the jam of a vote. No category has this id. */
export const VOTED_JAM = '_jam'

/** The page before the first jam. */
export const NoJamPage = ({ isAdmin, now }: { isAdmin: boolean; now: Date }): View =>
  isAdmin
    ? html`
        <${PageHeader} title="Start a game jam" lede="Makers submit their games, players play and vote, and you reveal the results on the projector." />
        <${Settings} action="/jam" submit="Begin the jam" title="Game jam" theme="" categories=${['Overall', 'Fun', 'Looks']} deadline=${null} now=${now} />`
    : html`
        <${PageHeader} title="Game jam" />
        <${Card}><${EmptyState} title="No jam yet" action=${{ href: '/catalog', label: 'See all games' }}><p>An administrator begins a jam here. Until then, play the games of the catalog.</p><//><//>`

/** Renders the jam: the games, and the viewer's possible actions for each. */
export const JamPage = (props: JamProps): View => {
  const { jam, entries, boards, viewer } = props
  return html`
    <${PageHeader} title=${jam.title} lede=${jam.theme && html`Theme: <strong>${jam.theme}</strong>`} chips=${chips(jam)} actions=${nextStep(props)} />
    <${Deadline} jam=${jam} now=${props.now} />
    <${Section} title="Games" id="games" description=${entries.length > 0 && counted(props)}>
      <div data-live="games" class="stack">
        ${
          entries.length > 0
            ? html`<ul class="jam-games">${entries.map((entry) => html`<${JamCard} entry=${entry} named=${viewer !== null} />`)}</ul>`
            : html`<div class="card"><${EmptyState} title="No games yet"><p>${jam.submissionsOpen ? 'Submissions are open, and yours can be the first.' : 'Nobody has submitted a game.'}</p><//></div>`
        }
      </div>
    <//>
    ${boards && html`<${Section} title="Leaderboards" id="boards"><div data-live="boards">${boards}</div><//>`}
    ${jam.votingOpen && html`<${Voting} ...${props} />`}
    ${(jam.submissionsOpen || props.mine.length > 0) && html`<${Submitting} ...${props} />`}
    ${viewer?.isAdmin && html`<${Organising} ...${props} />`}
    ${props.hasFormer && html`<${Note}><a href="/jam/past">Results of former jams</a><//>`}`
}

const chips = ({ submissionsOpen, votingOpen, revealed }: Jam): Content => html`
  ${submissionsOpen && html`<${Chip} live>submissions open<//>`}
  ${votingOpen && html`<${Chip} live>voting open<//>`}
  ${!submissionsOpen && !votingOpen && revealed === 0 && html`<${Chip}>closed for now<//>`}
  ${revealed > 0 && html`<${Chip} tone="success">results<//>`}`

/** Renders the viewer's next step; for the organiser also a link to the controls. */
function nextStep({ jam, viewer }: JamProps): Content {
  const signIn = '/sign-in?returnTo=/jam'
  const step = (label: string, href: string) =>
    html`<${Button} kind=${href.startsWith('#') ? 'plain' : 'act'} href=${href}>${label}<//>`
  return html`
    ${viewer?.isAdmin && html`<${Button} kind="quiet" href="#organise">Organise<//>`}
    ${
      jam.revealed > 0
        ? step('See the results', '/jam/results')
        : jam.votingOpen
          ? step('Vote', viewer ? '#vote' : signIn)
          : jam.submissionsOpen && step('Submit a game', viewer ? '#submit' : signIn)
    }`
}

const counted = ({ entries, voters, jam }: JamProps): string => {
  const players = entries.reduce((sum, entry) => sum + entry.players, 0)
  const parts = [count(entries.length, 'game')]
  if (players > 0) parts.push(`${count(players, 'player')} in them now`)
  if (jam.votingOpen || voters > 0) parts.push(`${count(voters, 'player')} voted`)
  return parts.join(' · ')
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`

/** Only signed-in viewers see names of players. */
const JamCard = ({ entry, named }: { entry: Entry; named: boolean }): View => html`
  <li class="card flush jam-game">
    <${Cover} id=${entry.gameId} title=${entry.title} coverUrl=${entry.coverUrl} />
    <div class="jam-game-text">
      <h3 class="game-title">${entry.title}</h3>
      <p class="game-meta">by ${entry.by}</p>
    </div>
    <div class="jam-game-foot">
      ${
        entry.players > 0
          ? html`<span class="row"><${Chip} live>${entry.players} playing<//>${named && html`<${AvatarGroup} people=${entry.people} />`}</span>`
          : html`<span class="soft">Nobody in it now</span>`
      }
      <${Button} href=${`/games/${entry.slug}`} label=${`Play ${entry.title}`}>Play<//>
    </div>
  </li>`

const Voting = ({ jam, entries, votes, viewer, guests }: JamProps): View => {
  const choices = entries
    .filter(({ makerIds }) => !viewer || !makerIds.includes(viewer.id))
    .toSorted((a, b) => a.title.localeCompare(b.title))
  const options = [
    { value: '', label: 'No vote' },
    ...choices.map(({ gameId, title, by }) => ({ value: gameId, label: `${title} (by ${by})` })),
  ]
  return html`
    <${Section} title="Vote" id="vote" layout="side" description="One vote in each category, for any game but your own. You can change your mind until voting closes.">
      ${
        viewer
          ? html`<${Card}><${Form} action="/jam/votes" submit="Save my votes" optimistic="votes" said="Your votes are in. You can change them until voting closes.">
              <input type="hidden" name=${VOTED_JAM} value=${jam.id} />
              ${jam.categories.map(
                ({ id, name }) =>
                  html`<${Field} label=${name} name=${id} id=${`vote-${id}`} type="select" value=${votes[id] ?? ''} options=${options} />`,
              )}
            <//><//>`
          : html`<${Card}><p>${guests ? 'A name is enough.' : 'Sign in to vote.'}</p><${Button} href="/sign-in?returnTo=/jam">${guests ? 'Say who you are' : 'Sign in'}<//><//>`
      }
    <//>`
}

const Submitting = ({ jam, mine, viewer, voters }: JamProps): View => {
  const inIt = mine.filter(({ takesPart }) => takesPart)
  const left = mine.filter(({ takesPart }) => !takesPart).map(({ game }) => game)
  const isFixed = !jam.submissionsOpen || jam.votingOpen || jam.revealed > 0 || voters > 0
  return html`
    <${Section} title="Your games" id="submit" layout="side" description="A public game with a build can take part, until submissions close. You can still deploy to it.">
      ${!viewer && html`<${Card}><p>Sign in with an account to submit a game.</p><${Button} href="/sign-in?returnTo=/jam">Sign in<//><//>`}
      ${
        inIt.length > 0 &&
        html`<${Table} caption="Your games in the jam" rows=${inIt} columns=${[
          {
            label: 'Game',
            cell: ({ game }: OwnGame) => html`<a href=${`/games/${game.slug}`}>${game.title}</a>`,
          },
          { label: 'State', cell: stateOf },
          {
            label: 'Withdraw',
            action: true,
            cell: ({ game }: OwnGame) =>
              isFixed && !viewer?.isAdmin
                ? html`<span class="soft">Ask the organiser</span>`
                : html`<${Withdraw} gameId=${game.id} title=${game.title} voters=${voters} />`,
          },
        ]} />`
      }
      ${
        !jam.submissionsOpen &&
        html`<${Card}><p>Submissions are closed.${left.length > 0 && ` Not in the jam: ${left.map(({ title }) => title).join(', ')}.`}</p><//>`
      }
      ${
        jam.submissionsOpen &&
        left.length > 0 &&
        html`<${Card}><${Form} action="/jam/entries" submit="Submit" kind="plain">
          <${Field} label="Game" name="gameId" id="submit-game" type="select" options=${left.map(({ id, title }) => ({ value: id, label: title }))} />
        <//><//>`
      }
      ${
        viewer &&
        mine.length === 0 &&
        html`<${Card}><p>You have nothing to submit yet. A folder with an <code>index.html</code> is all that a game needs.</p><${Button} kind="act" href="/games/new">Publish a game<//><//>`
      }
    <//>`
}

const stateOf = ({ game, isShown }: OwnGame): Content =>
  isShown
    ? 'Takes part'
    : `Takes part, but is not shown: it ${game.visibility === 'private' ? 'is private' : "can't be played now"}`

/** The numbers of votes of the games are results, which nobody sees before they are revealed. */
const Withdraw = ({ gameId, title, voters }: { gameId: string; title: string; voters: number }): View => html`
  <${Confirm} small label="Withdraw" name=${`Withdraw ${title}`} action="/jam/entries/withdraw" submit=${`Withdraw ${title}`}>
    <p>${voters > 0 ? `${count(voters, 'player')} voted in this jam. Their votes for this game are deleted, also from revealed results, and can't be restored.` : 'The game itself stays.'}</p>
    <input type="hidden" name="gameId" value=${gameId} />
  <//>`

const Organising = ({ jam, now, entries, voters }: JamProps): View => html`
  <${Section} title="Organise" id="organise" layout="side" description="Only administrators see this part.">
    <${Card} title="Now">
      <div class="row">
        <${Switch} what="submissions" open=${jam.submissionsOpen} />
        <${Switch} what="voting" open=${jam.votingOpen} />
        <${Button} href="/jam/results">Projector: results<//>
        <${Button} href="/join">Projector: how to join<//>
      </div>
    <//>
    <${Settings} action="/jam/settings" submit="Save" title=${jam.title} theme=${jam.theme} categories=${jam.categories.map(({ name }) => name)} deadline=${jam.deadline} now=${now} />
    ${
      entries.length > 0 &&
      html`<${Table} caption="Games that take part" rows=${entries} columns=${[
        { label: 'Game', cell: (entry: Entry) => entry.title },
        { label: 'Maker', cell: (entry: Entry) => entry.by },
        {
          label: 'Submitted',
          cell: ({ submittedAt }: Entry) =>
            html`<${Timestamp} at=${submittedAt} /> ${isLate(jam, submittedAt) && html`<${Chip} tone="warn">late<//>`}`,
        },
        {
          label: 'Take out',
          action: true,
          cell: (entry: Entry) => html`<${Withdraw} gameId=${entry.gameId} title=${entry.title} voters=${voters} />`,
        },
      ]} />`
    }
    <${Confirm} label="Begin a new jam" action="/jam" submit="Begin it">
      <p>The current jam ends. Its games stay. The results that you have revealed stay under “Results of former jams”; the others can't be revealed later.</p>
      <input type="hidden" name="title" value="Game jam" />
    <//>
  <//>`

const Switch = ({ what, open }: { what: 'submissions' | 'voting'; open: boolean }): View => html`
  <${Form} action="/jam/switch">
    <input type="hidden" name="what" value=${what} />
    <${Button} name="to" value=${open ? 'closed' : 'open'}>${open ? 'Close' : 'Open'} ${what}<//>
  <//>`

interface SettingsProps {
  action: string
  submit: string
  title: string
  theme: string
  categories: string[]
  deadline: string | null
  now: Date
}

const Settings = ({ action, submit, title, theme, categories, deadline, now }: SettingsProps): View => html`
  <${Card}><${Form} action=${action} submit=${submit} kind=${action === '/jam' ? 'act' : 'plain'}>
    <${Field} label="Title" name="title" value=${title} required maxlength=${120} />
    <${Field} label="Theme" name="theme" value=${theme} required=${false} maxlength=${200} hint="The subject of the games." />
    <${Field} label="Categories" name="categories" type="textarea" rows=${4} value=${categories.join('\n')} hint="One a line, eight at most. They can't be changed after the first vote." />
    <${Field} label="Submissions end" name="deadline" type="datetime-local" value=${fieldOf(deadline)} required=${false} hint=${html`Everyone sees a countdown. Later games are marked as late for you; nothing closes by itself. Time zone: <span data-zone>UTC</span>. The clock of the server counts: <${Timestamp} at=${now} />`} />
  <//><//>`

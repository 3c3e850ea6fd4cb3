import {
  Avatar,
  AvatarGroup,
  Button,
  Card,
  Checkbox,
  Chip,
  Choices,
  CodeBlock,
  Confirm,
  CopyValue,
  DescriptionList,
  EmptyState,
  Field,
  Form,
  GameCard,
  Grid,
  Hero,
  html,
  Note,
  Notice,
  PageHeader,
  Pagination,
  Row,
  Search,
  Section,
  Split,
  Stack,
  Stats,
  Steps,
  Table,
  Tabs,
  Timestamp,
} from '../index.ts'

/** Every component in every state, on example pages. `/design` shows them, and tests check them. */

const titles = [
  'Rooftop Relay',
  'Ridge Runner',
  'Four of a Mind',
  'Sonar',
  'Ball & Block',
  'Star Porter',
  'Dungeon Post',
  'Fox and Fern',
  'House of Cards',
  'Kingdom Come Over',
  'Untitled Goose',
  'Hello',
]

export const home = html`
  <${Hero} title=${html`Your yard.<br />Your games.<br />Everyone in.`}
    lede="Publish a build and it is playable, signed in and multiplayer a minute later, on a machine you own."
    actions=${html`<${Button} kind="act" href="/games/new">Publish a game<//><${Button} href="#games">Play something<//>`}
    feature=${{ game: { id: 'gam_hero', title: 'Rooftop Relay' }, href: '/play/rooftop-relay', meta: html`room <code>lobby</code>`, playing: 6, people: [{ name: 'Ada L' }, { name: 'Linus T' }, { name: 'Grace Hopper' }] }} />
  <${Section} title="New in the yard" id="games" action=${html`<a href="/catalog">all games</a>`}>
    <${Grid}>${titles.map(
      (title, index) =>
        html`<${GameCard} game=${{ id: `gam_${index}`, title }} href=${`/play/${index}`} by="by Ada and Bo" meta="physics · 1–4 players" playing=${index === 3 ? 4 : 0} />`,
    )}<//>
  <//>`

const deploys = [
  { id: 'dep_7K2F', message: 'Faster start, new skyline', files: '214 · 3 changed', live: true },
  { id: 'dep_7JX9', message: 'Fix double jump', files: '214 · 1 changed', live: false },
  {
    id: 'dep_7JQ1',
    message: 'First public build, with a message that goes on for quite a while to see how it wraps',
    files: '213',
    live: false,
  },
]

export const manage = html`
  <${PageHeader} title="Rooftop Relay" crumbs=${[{ label: 'Games', href: '/games' }]} chips=${html`<${Chip} live>live<//>`}
    address="http://rooftop-relay-with-a-rather-long-name-of-its-own.games.example.localhost:8080/"
    actions=${html`<${Button} href="/play">Open game<//><${Button} kind="act" href="/deploy">Deploy<//>`} />
  <${Tabs} label="Rooftop Relay" current="/overview" tabs=${['Overview', 'Deploys', 'Sign-in', 'Rooms', 'Analytics', 'Settings', 'Integrate'].map((label) => ({ label, href: `/${label.toLowerCase()}` }))} />
  <${Split} aside=${html`
      <${Card} title="Next: let players sign in" description="The button is already on your page. Read the session from your code:">
        <${CodeBlock} code=${"const me = await fetch(\n  '/auth/service/session'\n).then((answer) => answer.json())"} />
        <${Button} href="/guide">Open the guide<//>
      <//>
      <${Card} title="In the room now"><${AvatarGroup} people=${['Ada L', 'Linus T', 'Mo', 'Grace Hopper', 'Kai', 'Ren', 'Zoë'].map((name) => ({ name }))} /><//>`}>
    <${Stats} items=${[
      { label: 'plays this week', value: 1284 },
      { label: 'players', value: 412 },
      { label: 'in rooms now', value: 6, live: true },
      { label: 'AI credits used', value: 38 },
    ]} />
    <${Table} caption="Deploys of Rooftop Relay" rows=${deploys} columns=${[
      { label: 'Deploy', cell: (row: (typeof deploys)[0]) => html`<code>${row.id}</code>` },
      { label: 'Message', cell: (row: (typeof deploys)[0]) => row.message },
      { label: 'Files', cell: (row: (typeof deploys)[0]) => row.files },
      {
        label: 'Actions',
        action: true,
        cell: (row: (typeof deploys)[0]) =>
          row.live
            ? html`<${Chip} live>live<//>`
            : html`<${Button} small href="/rollback" label=${`Roll back to ${row.id}`}>Roll back<//>`,
      },
    ]} />
    <${Pagination} label="deploys" first="/deploys" next="/deploys?cursor=x" />
    <${Card} title="Sign-in">
      <${DescriptionList} items=${[
        { term: 'Client id', detail: html`<${CopyValue} label="client id" value="app_01KABCDEFGHJKMNPQRSTVWXYZ0" />` },
        {
          term: 'Redirect URI',
          detail: html`<${CopyValue} label="redirect URI" value="http://rooftop-relay-with-a-rather-long-name.games.example.localhost:8080/auth/service/callback" />`,
        },
        { term: 'Created', detail: html`<${Timestamp} at="2026-11-20T10:30:00.000Z" />` },
        { term: 'Last used', detail: html`<${Timestamp} at=${null} />` },
      ]} />
    <//>
  <//>`

export const settings = html`
  <${PageHeader} title="API tokens" lede="A token lets a script or a continuous-integration job act for you. Give each its own, with no more than it needs." />
  <${Stack}>
    <${Notice} title="The server is about to restart">Rooms reconnect automatically.<//>
    <${Notice} tone="success" title="Token created">Copy it now; it is not shown again.<${CopyValue} label="token" value="svc_api_4f9Kq2LmZ8xT1vRbYc7NwHs5DpGe3uJa0oQiXk" /><//>
    <${Notice} tone="warn">Mail is written to the log only. Nobody can reset a password by mail.<//>
    <${Notice} tone="error" dismissible>The upload stopped half way. Try it again.<//>
  <//>
  <${Section} title="New token" description="Its scopes can't be changed later." layout="side">
    <${Card}>
      <${Form} action="/settings/tokens" submit="Create token" error="Two things need your attention.">
        <${Field} label="Label" name="label" value="laptop" required maxlength=${60} hint="Where it will be used, so that you know it again." />
        <${Field} label="Contact" name="contact" type="email" required=${false} value="ada@" error="That is not a whole address: something is missing after @." autocomplete="email" />
        <${Field} label="Expires" name="expiresInDays" type="select" value="90" options=${[{ value: '7', label: '7 days' }, { value: '90', label: '90 days' }, { value: '365', label: 'A year' }]} />
        <${Choices} legend="May do" name="scopes" multiple value=${['games:write']} error="Choose at least two." options=${[
          { value: 'games:read', label: 'Read games', hint: html`<code>games:read</code>` },
          { value: 'games:write', label: 'Create and change games', hint: html`<code>games:write</code>` },
          { value: 'assets:write', label: 'Upload assets', hint: html`<code>assets:write</code>`, disabled: true },
        ]} />
        <${Choices} legend="Visibility" name="visibility" value="public" options=${[
          { value: 'public', label: 'Public', hint: 'In the catalog, playable by everyone.' },
          { value: 'private', label: 'Private', hint: 'Only you and those you invite.' },
        ]} />
        <${Field} label="Notes" name="notes" type="textarea" placeholder="Anything worth knowing" />
        <${Field} label="Build" name="build" type="file" hint="A zip with index.html at its root." />
        <${Field} label="Address" name="address" mono readonly value="http://pong.localhost:8080" />
        <${Field} label="Held" name="held" disabled value="disabled" />
        <${Checkbox} label="Tell me before it expires" name="remind" checked hint="One mail, a week ahead." />
      <//>
    <//>
  <//>
  <${Section} title="Tokens" layout="side">
    <${Table} caption="Your tokens" rows=${[]} columns=${[{ label: 'Label', cell: () => '' }]} empty=${html`<${EmptyState} title="No tokens yet" command="npx gameyard login">Sign in once from a terminal and the command line keeps a token of its own.<//>`} />
    <${Card}><${EmptyState} title="No games yet" action=${{ href: '/games/new', label: 'Publish a game' }}>A folder with an index.html is all it takes.<//><//>
  <//>
  <${Section} title="First game" layout="side">
    <${Card} footer="About five minutes.">
      <${Steps} items=${[
        { title: 'Sign up', body: 'You are here already.', done: true },
        { title: 'Create a token', body: html`On this page, with <code>games:write</code>.` },
        {
          title: 'Deploy',
          body: html`From your game's folder:<${CodeBlock} title="Terminal" code="npx gameyard deploy dist --game rooftop-relay --message 'First public build of the game'" />`,
        },
      ]} />
    <//>
  <//>
  <${Section} title="Buttons and chips" layout="side">
    <${Row}><${Button} kind="act" type="button">Act<//><${Button} type="button">Plain<//><${Button} kind="danger" type="button">Danger<//><${Button} kind="quiet" type="button">Quiet<//><${Button} type="button" disabled>Disabled<//><${Button} small type="button">Small<//><//>
    <${Row}><${Chip} live>6 playing now<//><${Chip}>private<//><${Chip} tone="success">finished<//><${Chip} tone="warn">expires soon<//><${Chip} tone="error">failed<//><//>
    <${Row}>${['s', 'm', 'l'].map((size) => html`<${Avatar} name="Grace Hopper" size=${size} /> Grace`)}<//>
    <${Search} action="/catalog" label="Search 48 games" />
    <${Confirm} label="Delete game" action="/games/x/delete" submit="Delete for good"><p>Its address, rooms and statistics go with it. It can be restored for 30 days.</p><//>
  <//>`

export const signIn = html`
  <${PageHeader} title="Sign in" lede="Welcome back to the yard." />
  <${Card}>
    <${Form} action="/sign-in" submit="Sign in" error="That email and password do not belong together.">
      <${Field} label="Email" name="email" type="email" autocomplete="username" required value="ada@example.com" />
      <${Field} label="Password" name="password" type="password" autocomplete="current-password" required />
    <//>
  <//>
  <${Note}>New here? <a href="/sign-up">Create an account</a><//>`

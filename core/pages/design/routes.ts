import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../errors.ts'
import { html, PageHeader, renderPage, Section, Tabs, type View } from '../index.ts'
import { home, manage, settings, signIn } from './examples.ts'

const COLOURS = {
  paper: 'the page',
  sheet: 'cards, fields',
  sunken: 'wells: code, heads of tables',
  raised: 'what can be pressed',
  line: 'between things',
  edge: 'around what is filled in',
  ink: 'text',
  'ink-soft': 'what may be passed over',
  act: 'the one button that matters',
  'act-text': 'the same, as text',
  play: 'alive now; done',
  warn: 'look here',
  stop: 'failed; destroys',
  focus: 'where the keyboard is',
}
const SPACES = ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8']
const SIZES = ['t-hero', 't-xxl', 't-xl', 't-l', 't-m', 't-s', 't-xs']

const PARTS: Record<string, { label: string; body: View; narrow?: boolean }> = {
  start: { label: 'Start page', body: home },
  thing: { label: 'One thing', body: manage },
  forms: { label: 'Forms and messages', body: settings },
  question: { label: 'A single question', body: signIn, narrow: true },
}

/**
 * Registers `/design`, which `portal.designPage` enables: the design principles, and every component in every state.
 */
export function registerDesign(app: FastifyInstance): void {
  const open = {
    config: { auth: 'optional', page: true },
    constraints: { origin: 'portal' },
    schema: { hide: true },
  } as const
  app.get('/design', open, async (request, reply) =>
    renderPage(reply, { title: 'Design', user: request.principal?.viewer, body: foundations }),
  )
  app.get<{ Params: { part: string } }>('/design/:part', open, async (request, reply) => {
    const part = PARTS[request.params.part]
    if (!part) throw new NotFound('page')
    const { label, body, narrow = false } = part
    const user = request.principal?.viewer
    return renderPage(reply, {
      title: label,
      user,
      narrow,
      body: html`${tabs(`/design/${request.params.part}`)}${body}`,
    })
  })
}

const tabs = (current: string): View =>
  html`<${Tabs} label="Design" current=${current} tabs=${[
    { label: 'Foundations', href: '/design' },
    ...Object.entries(PARTS).map(([name, { label }]) => ({ label, href: `/design/${name}` })),
  ]} />`

const foundations = html`
  <${PageHeader} title="Design" lede="Paper and ink by day, a lit yard by night. This page shows everything: tokens.css, and the components of core/pages." />
  ${tabs('/design')}
  <${Section} title="Colour" description="Each is two: by day and by night.">
    <ul class="swatches">${Object.entries(COLOURS).map(
      ([name, use]) =>
        html`<li><span class=${`swatch of-${name}`}></span><code>--${name}</code><span class="soft">${use}</span></li>`,
    )}</ul>
  <//>
  <${Section} title="Type" description="Bricolage Grotesque for titles, Instrument Sans for text, JetBrains Mono for what is typed.">
    <div class="stack">${SIZES.map((size) => html`<p class=${`specimen of-${size}`}>Everyone in <code>--${size}</code></p>`)}</div>
  <//>
  <${Section} title="Space" description="Steps of four and eight.">
    <ul class="spaces">${SPACES.map((space) => html`<li><span class=${`space of-${space}`}></span><code>--${space}</code></li>`)}</ul>
  <//>`

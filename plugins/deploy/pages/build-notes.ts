import { type Content, html } from '../../../core/pages/index.ts'
import type { Deploy } from '../schemas.ts'

/** What the platform found in a build: its engine and isolation in one line, and its notes to unfold. */
export function examined({ build, isolation }: Deploy): Content {
  const facts = [
    build?.engine && [build.engine.name, build.engine.version].filter(Boolean).join(' '),
    isolation?.on && 'isolated',
  ].filter(Boolean)
  const notes = [
    ...(isolation?.on ? [{ level: 'info', message: `Isolated: ${isolation.reason}` }] : []),
    ...(build?.notes ?? []),
  ]
  const warnings = notes.filter(({ level }) => level === 'warning').length
  const title = warnings === 0 ? 'About this build' : warnings === 1 ? 'One warning' : `${warnings} warnings`
  return html`${facts.length > 0 && html`<br /><span class="soft">${facts.join(' · ')}</span>`}${
    notes.length > 0 &&
    html`<details class="more">
      <summary>${title}</summary>
      <ul>
        ${notes.map(({ message }) => html`<li>${message}</li>`)}
      </ul>
    </details>`
  }`
}

/** Says after a publication which page became the start page, and that there are warnings; else an empty text. */
export function warningsOf(deploy: Deploy | undefined): string {
  const notes = deploy?.build?.notes ?? []
  const renamed = notes.find(({ code }) => code === 'start_page')
  const start = renamed ? ` ${renamed.message}` : ''
  const warnings = notes.filter(({ level }) => level === 'warning').length
  if (warnings === 0) return start
  return `${start} ${warnings === 1 ? 'One thing' : `${warnings} things`} may not work: see the warnings below.`
}

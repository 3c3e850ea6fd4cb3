import { Chip, CodeBlock, type Content, EmptyState, html, Section, type View } from '../../../core/pages/index.ts'
import type { LogLine } from '../script-logs/schemas.ts'

/** The number of lines that the page shows. */
const SHOWN = 50

/** Renders the log of a game's room scripts, the newest line first. @param options `hasScript`: the live deploy's */
export const logOf = (lines: LogLine[], { hasScript }: { hasScript: boolean }): View =>
  lines.length === 0 && !hasScript
    ? INTRODUCTION
    : html`
      <${Section} title="Log" description=${html`What the room script says by <code>room.log</code>, the newest first. In a terminal: <code>gameyard logs --follow</code>`}>
        ${
          lines.length > 0
            ? html`<ol class="log" tabindex="0" aria-label="Lines">${lines.slice(0, SHOWN).map(entry)}</ol>`
            : html`<div class="card"><${EmptyState} title="Nothing logged yet"><p>A script writes a line with <code>room.log('round over', score)</code>.</p><//></div>`
        }
      <//>`

const INTRODUCTION = html`
  <${Section} title="A script that decides" description=${html`One file of your build can run here, for each room: it checks what players send, moves the game on, and writes scores. Nobody can change it in a browser. <a href="/docs/room-scripts">The guide</a>`}>
    <${CodeBlock} copy=${false} title="Terminal" code=${'gameyard init --room\ngameyard deploy'} />
  <//>`

const entry = ({ at, level, roomId, text, source }: LogLine): Content => html`
  <li>
    <span class="log-when"><time datetime=${at}>${at.slice(11, 19)}</time></span>
    <${Chip} tone=${level === 'log' ? 'info' : 'error'}>${level}<//>
    <span class="log-text">${text} <code>${roomId}${source && ` ${source.path}:${source.line}:${source.column}`}</code></span>
  </li>`

import Type, { type Static } from 'typebox'
import { invalidField } from '../../../core/errors.ts'
import { Choices, Field, Form, html, type View } from '../../../core/pages/index.ts'
import { VISIBLE_PATTERN } from '../../../core/visible-text.ts'
import { BOARD_ID, type BoardFields, type BoardInput } from '../schemas.ts'

const Text = (maxLength: number) => Type.Optional(Type.String({ maxLength }))

const BOARD_ID_ADVICE = 'Use 1 to 40 lower-case letters, digits, hyphens and underscores, such as fastest-lap.'

/** A board as a form sends it: all texts. */
export const BoardForm = Type.Object({
  id: Type.Optional(Type.Union([Type.Literal(''), Type.String({ pattern: BOARD_ID, advice: BOARD_ID_ADVICE })])),
  title: Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN }),
  order: Text(10),
  format: Text(20),
  decimals: Text(10),
  keep: Text(10),
  reset: Text(10),
  min: Text(40),
  max: Text(40),
  writers: Text(10),
})
type BoardText = Static<typeof BoardForm>

const WORDS = {
  order: ['desc', 'asc'],
  format: ['number', 'milliseconds', 'seconds'],
  keep: ['best', 'last', 'sum'],
  reset: ['never', 'daily', 'weekly', 'monthly'],
  writers: ['players', 'room'],
} as const

/** Reads the fields of a board. @throws InvalidRequest for a number that is none */
export function inputOf(text: BoardText): BoardInput {
  const input: Record<string, unknown> = { title: text.title }
  for (const [name, words] of Object.entries(WORDS)) {
    const value = text[name as keyof typeof WORDS]
    if (value === undefined) continue
    if (!(words as readonly string[]).includes(value)) throw invalidField(name, `There is no choice ${value}.`)
    input[name] = value
  }
  for (const name of ['min', 'max'] as const) {
    const value = text[name]
    if (value !== undefined) input[name] = value.trim() === '' ? null : numberIn(name, value)
  }
  if (text.decimals !== undefined) {
    const decimals = numberIn('decimals', text.decimals)
    if (!(Number.isInteger(decimals) && decimals >= 0 && decimals <= 6))
      throw invalidField('decimals', 'A score has 0 to 6 decimals.')
    input.decimals = decimals
  }
  return input as BoardInput
}

function numberIn(name: string, text: string): number {
  const number = Number(text.trim())
  if (text.trim() === '' || !Number.isFinite(number) || Math.abs(number) > Number.MAX_SAFE_INTEGER)
    throw invalidField(name, `Enter a number, such as 1000. “${text}” is none.`)
  return number
}

interface FormProps {
  action: string
  submit: string
  values: Partial<Record<keyof BoardFields, string | number | null | undefined>> & { id?: string | undefined }
  /** Whether the board exists, so that its id stays. */
  isNew: boolean
  /** Whether the board has scores, which fix some fields. */
  hasScores: boolean
}

/** Renders the form of a board. */
export function boardForm({ action, submit, values, isNew, hasScores }: FormProps): View {
  const fixed = hasScores ? 'Fixed while the board has scores.' : undefined
  return html`
    <${Form} action=${action} submit=${submit}>
      <${Field} label="Title" name="title" value=${values.title} required maxlength=${120} autocomplete="off" />
      ${isNew && html`<${Field} label="Id" name="id" value=${values.id} required=${false} mono maxlength=${40} autocomplete="off" hint=${html`In the code of the game: <code>board('fastest')</code>. Without one it follows the title.`} />`}
      ${
        hasScores
          ? html`<p class="hint">${`The ${values.order === 'asc' ? 'lowest' : 'highest'} score is best, the ${values.keep} of each player counts, it resets: ${values.reset}, decimals: ${values.decimals}. ${fixed}`}</p>`
          : html`
        <${Choices} legend="The best score" name="order" value=${String(values.order ?? 'desc')} options=${[
          { value: 'desc', label: 'is the highest' },
          { value: 'asc', label: 'is the lowest', hint: 'For times and strokes.' },
        ]} />
        <${Field} label="What counts of a player" name="keep" type="select" value=${values.keep ?? 'best'} options=${[
          { value: 'best', label: 'the best score' },
          { value: 'last', label: 'the last score' },
          { value: 'sum', label: 'the sum of all scores' },
        ]} />
        <${Field} label="Resets" name="reset" type="select" value=${values.reset ?? 'never'} hint="At 00:00 UTC." options=${[
          { value: 'never', label: 'never' },
          { value: 'daily', label: 'every day' },
          { value: 'weekly', label: 'every Monday' },
          { value: 'monthly', label: 'on the first of the month' },
        ]} />
        <${Field} label="Decimals" name="decimals" type="number" value=${values.decimals ?? 0} min=${0} max=${6} required />`
      }
      <${Field} label="Shown as" name="format" type="select" value=${values.format ?? 'number'} options=${[
        { value: 'number', label: 'a number' },
        { value: 'milliseconds', label: 'a time; scores are milliseconds' },
        { value: 'seconds', label: 'a time; scores are seconds' },
      ]} />
      <${Field} label="Least score" name="min" value=${values.min} required=${false} inputmode="decimal" autocomplete="off" hint="Lower ones are refused." />
      <${Field} label="Greatest score" name="max" value=${values.max} required=${false} inputmode="decimal" autocomplete="off" hint="Higher ones are refused." />
      <${Choices} legend="Who submits scores" name="writers" value=${String(values.writers ?? 'players')} options=${[
        { value: 'players', label: 'The browsers of players', hint: 'A player who knows how can send any score.' },
        {
          value: 'room',
          label: 'Only a room script',
          hint: 'It runs on the server, so its scores cannot be forged. The build of the game must have one.',
        },
      ]} />
    <//>`
}

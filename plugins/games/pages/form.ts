import { Errors } from 'typebox/value'
import { isPlatformError } from '../../../core/errors.ts'
import { Choices, type Content, Field, html } from '../../../core/pages.ts'
import { NewGame } from '../schemas.ts'

/** What lies between an idea and a game that is played. */
export const NEW_GAME_STEPS = ['Describe', 'Upload', 'Play'] as const

/** What a game's form sends: all of it text. */
export interface GameForm {
  title: string
  description: string
  tags: string
  visibility: string
}

/** What is wrong, by field; under `form` what concerns the whole. */
export type Problems = { [Name in keyof GameForm | 'form' | 'slug' | 'media' | 'confirm']?: string | undefined }

const ADVICE: Record<keyof GameForm, string> = {
  title: 'Give it a title of 1 to 120 characters.',
  description: 'Use at most 20,000 characters.',
  tags: 'Use at most 10 tags, each of 1 to 30 lower-case letters, digits and hyphens.',
  visibility: 'Choose one of the two.',
}

/** Reads a form as the API would read the same fields. */
export function readForm(form: GameForm): { fields: NewGame } | { problems: Problems } {
  const fields = { ...form, tags: form.tags.split(/[\s,]+/).filter(Boolean) }
  const problems: Problems = {}
  for (const error of Errors(NewGame, fields)) {
    const name = error.instancePath.split('/')[1] as keyof GameForm
    problems[name in ADVICE ? name : 'title'] = ADVICE[name] ?? ADVICE.title
  }
  return Object.keys(problems).length > 0 ? { problems } : { fields: fields as NewGame }
}

/** A refusal of the service as the form shows it; anything else goes on to the error page. */
export function problemsOf(error: unknown): Problems {
  if (isPlatformError(error) && error.statusCode < 500 && error.statusCode !== 404) return { form: error.message }
  throw error
}

/** The fields that a new game and its settings have in common. */
export const gameFields = (form: GameForm, problems: Problems): Content => html`
  <${Field} label="Title" name="title" value=${form.title} required maxlength=${120} error=${problems.title} autocomplete="off" />
  <${Field} label="Description" name="description" type="textarea" value=${form.description} required=${false} maxlength=${20_000} error=${problems.description}
    hint="What one does in it, and for how many players." />
  <${Field} label="Tags" name="tags" value=${form.tags} required=${false} error=${problems.tags} autocomplete="off"
    hint="A few words that people search by, separated by spaces: puzzle co-op 2d" />
  <${Choices} legend="Who may play" name="visibility" value=${form.visibility} error=${problems.visibility} options=${[
    { value: 'public', label: 'Everyone', hint: 'It stands in the catalog.' },
    {
      value: 'private',
      label: 'Only me, and whom I invite',
      hint: 'It is in no list, and its address answers to nobody else.',
    },
  ]} />`

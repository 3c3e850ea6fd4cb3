import { Errors } from 'typebox/value'
import { isPlatformError } from '../../../core/errors.ts'
import { Choices, type Content, Field, html } from '../../../core/pages/index.ts'
import { NewGame } from '../schemas.ts'

/** The steps from an idea to a published game. */
export const NEW_GAME_STEPS = ['Describe', 'Upload', 'Play'] as const

/** The fields of a game's form, all as text. */
export interface GameForm {
  title: string
  description: string
  tags: string
  visibility: string
}

/** The errors by field. Errors of the whole form are under `form`. */
export type Problems = { [Name in keyof GameForm | 'form' | 'slug' | 'media' | 'confirm']?: string | undefined }

const ADVICE: Record<keyof GameForm, string> = {
  title: 'Give it a title of 1 to 120 characters.',
  description: 'Use at most 20,000 characters.',
  tags: 'Use at most 10 tags, each of 1 to 30 lower-case letters, digits and hyphens.',
  visibility: 'Choose one of the two.',
}

/** Parses a form by the rules of the API. */
export function readForm(form: GameForm): { fields: NewGame } | { problems: Problems } {
  const fields = { ...form, tags: form.tags.split(/[\s,]+/).filter(Boolean) }
  const problems: Problems = {}
  for (const error of Errors(NewGame, fields)) {
    const name = error.instancePath.split('/')[1] as keyof GameForm
    problems[name in ADVICE ? name : 'title'] = ADVICE[name] ?? ADVICE.title
  }
  return Object.keys(problems).length > 0 ? { problems } : { fields: fields as NewGame }
}

/** Converts a refusal to the errors of the form. Other errors are rethrown to the error page. */
export function problemsOf(error: unknown): Problems {
  if (isPlatformError(error) && error.statusCode < 500 && error.statusCode !== 404) return { form: error.message }
  throw error
}

/** The fields that the new-game form and the settings share. */
export const gameFields = (form: GameForm, problems: Problems): Content => html`
  <${Field} label="Title" name="title" value=${form.title} required maxlength=${120} error=${problems.title} autocomplete="off" />
  <${Field} label="Description" name="description" type="textarea" value=${form.description} required=${false} maxlength=${20_000} error=${problems.description}
    hint="What players do, and how many can play." />
  <${Field} label="Tags" name="tags" value=${form.tags} required=${false} error=${problems.tags} autocomplete="off"
    hint="A few words that people search by, separated by spaces: puzzle co-op 2d" />
  <${Choices} legend="Visibility" name="visibility" value=${form.visibility} error=${problems.visibility} options=${[
    { value: 'public', label: 'Everyone', hint: 'Everyone sees it in the catalog.' },
    {
      value: 'private',
      label: 'Only me, and whom I invite',
      hint: 'No list shows it. Only you and invited players can open it.',
    },
  ]} />`

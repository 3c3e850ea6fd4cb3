import { Errors } from 'typebox/value'
import { InvalidRequest } from '../../../core/errors.ts'
import { tagsIn } from '../../../core/http/forms/tags.ts'
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

const ADVICE: Record<keyof GameForm, string> = {
  title: 'Give it a title of 1 to 120 characters.',
  description: 'Use at most 20,000 characters.',
  tags: 'Use at most 10 tags, each of 1 to 30 of a to z, digits and hyphens.',
  visibility: 'Choose one of the two.',
}

/** Parses a form by the rules of the API. @throws InvalidRequest with a sentence for each field */
export function readForm(form: GameForm): NewGame {
  const fields = { ...form, tags: tagsIn(form.tags) }
  const names = new Set(Errors(NewGame, fields).map((error) => error.instancePath.split('/')[1]))
  const faulty = (Object.keys(ADVICE) as (keyof GameForm)[]).filter((name) => names.has(name))
  const [first] = faulty
  if (!first) return fields as NewGame
  const details = faulty.map((path) => ({ path, message: ADVICE[path] }))
  throw new InvalidRequest(ADVICE[first]).with({ details })
}

/** The fields that the new-game form and the settings share. */
export const gameFields = (form: GameForm): Content => html`
  <${Field} label="Title" name="title" value=${form.title} required maxlength=${120} autocomplete="off" />
  <${Field} label="Description" name="description" type="textarea" value=${form.description} required=${false} maxlength=${20_000}
    hint="What players do, and how many can play." />
  <${Field} label="Tags" name="tags" value=${form.tags} required=${false} autocomplete="off"
    hint="A few words that people search by, separated by spaces: puzzle co-op 2d" />
  <${Choices} legend="Visibility" name="visibility" value=${form.visibility} options=${[
    { value: 'public', label: 'Everyone', hint: 'Everyone sees it in the catalog.' },
    {
      value: 'private',
      label: 'Only me, and whom I invite',
      hint: 'No list shows it. Only you and invited players can open it.',
    },
  ]} />`

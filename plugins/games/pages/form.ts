import { Errors } from 'typebox/value'
import { InvalidRequest } from '../../../core/errors.ts'
import { Choices, type Content, Field, html } from '../../../core/pages/index.ts'
import { tagsIn } from '../../../core/tags.ts'
import { NewGame } from '../schemas.ts'

/** The steps from an idea to a published game. */
export const NEW_GAME_STEPS = ['Describe', 'Upload', 'Play'] as const

/** The fields of a game's form, all as text. */
export interface GameForm {
  title: string
  description: string
  tags: string
  visibility: string
  /** The slug of a new game; empty: made from the title. */
  slug?: string
}

/** What a slug that does not match its pattern is told. */
export const SLUG_ADVICE = 'Use 1 to 50 letters, digits and single hyphens, with no hyphen at an end.'

const ADVICE: Record<keyof GameForm, string> = {
  slug: SLUG_ADVICE,
  title: 'Give it a title of 1 to 120 characters.',
  description: 'Use at most 20,000 characters.',
  tags: 'Use at most 10 tags, each of 1 to 30 letters, digits and hyphens.',
  visibility: 'Choose one of the two.',
}

/** Parses a form by the rules of the API. @throws InvalidRequest with a sentence for each field */
export function readForm({ slug: typed = '', ...form }: GameForm): NewGame {
  const slug = typed.trim().toLowerCase()
  const fields = { ...form, tags: tagsIn(form.tags), ...(slug && { slug }) }
  const names = new Set(Errors(NewGame, fields).map((error) => error.instancePath.split('/')[1]))
  const faulty = (Object.keys(ADVICE) as (keyof GameForm)[]).filter((name) => names.has(name))
  const [first] = faulty
  if (!first) return fields as NewGame
  const details = faulty.map((path) => ({ path, message: ADVICE[path] }))
  throw new InvalidRequest(ADVICE[first]).with({ details })
}

/** The field for a slug. */
export const slugField = (field: { label: string; value: string; required: boolean; hint?: string }): Content => html`
  <${Field} ...${field} name="slug" mono maxlength=${50} pattern="[a-z0-9](?:[a-z0-9\\-]*[a-z0-9])?" autocomplete="off" />`

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

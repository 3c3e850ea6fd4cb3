import Type, { type Static } from 'typebox'
import { Errors } from 'typebox/value'
import { Confirm, Field, Form, html, PageHeader, Section, type View } from '../../../core/pages/index.ts'
import { tagsIn } from '../../../core/tags.ts'
import { type AssetRecord, pathOf } from '../record.ts'
import { AssetChanges } from '../schemas.ts'
import { GAME_HINT, type GameChoice } from './game-choice.ts'
import { licenseFields } from './license-fields.ts'

const text = Type.String()
/** The fields of the form, all as text. */
export const EditForm = Type.Object(
  {
    title: text,
    slug: text,
    description: text,
    tags: text,
    license: text,
    author: Type.Optional(text),
    lod: Type.Optional(text),
    gameId: Type.Optional(text),
  },
  { additionalProperties: false },
)
export type AssetForm = Required<Static<typeof EditForm>>

const ADVICE: Record<keyof AssetForm, string> = {
  title: 'Give it a title of 1 to 120 characters.',
  slug: 'Use lower-case letters, digits and single hyphens.',
  description: 'Use at most 20,000 characters.',
  tags: 'Use at most 10 tags, each of 1 to 30 letters, digits and hyphens.',
  author: 'Use at most 200 characters.',
  license: 'Use an SPDX identifier or expression.',
  lod: 'Choose one of the two.',
  gameId: 'Choose one of your games.',
}

/** Parses the form by the rules of the API. */
export function readEdit({
  lod,
  gameId,
  author,
  ...form
}: Static<typeof EditForm>): { changes: AssetChanges } | { problems: Partial<AssetForm> } {
  const tags = tagsIn(form.tags)
  // Only models have the choice of `lod`, and only some viewers that of the game.
  const changes = {
    ...form,
    tags,
    license: form.license.trim() || null,
    ...(author === undefined ? {} : { author: author.trim() || null }),
    ...(lod ? { lod } : {}),
    ...(gameId === undefined ? {} : { gameId: gameId || null }),
  }
  const problems: Partial<AssetForm> = {}
  for (const { instancePath } of Errors(AssetChanges, changes)) {
    const name = instancePath.split('/')[1] as keyof AssetForm
    problems[name in ADVICE ? name : 'title'] = ADVICE[name] ?? ADVICE.title
  }
  return Object.keys(problems).length > 0 ? { problems } : { changes: changes as AssetChanges }
}

export const formOf = ({ title, slug, description, tags, license, author, lod, gameId }: AssetRecord): AssetForm => ({
  title,
  slug,
  description,
  tags: tags.join(', '),
  license: license ?? '',
  author: author ?? '',
  lod,
  gameId: gameId ?? '',
})

/**
 * The form for an asset's metadata.
 *
 * @param choices.games the choices of its game; null for none
 * @param choices.owned whether the viewer may delete it
 * @param problems the errors of the last attempt, by field
 */
export const editPage = (
  asset: AssetRecord,
  form: AssetForm,
  { games, owned }: { games: readonly GameChoice[] | null; owned: boolean },
  problems: { [Name in keyof AssetForm | 'form']?: string | undefined } = {},
): View => html`
  <${PageHeader} title=${`Edit ${asset.title}`} crumbs=${[
    { label: 'Assets', href: '/assets' },
    { label: asset.title, href: pathOf(asset) },
  ]} />
  <${Form} action=${`${pathOf(asset)}/edit`} submit="Save" error=${problems.form}>
    <${Field} label="Title" name="title" value=${form.title} required maxlength=${120} autocomplete="off" error=${problems.title} />
    <${Field} label="Description" name="description" type="textarea" rows=${4} value=${form.description} required=${false} maxlength=${20_000} error=${problems.description} />
    <${Field} label="Tags" name="tags" value=${form.tags} required=${false} autocomplete="off" error=${problems.tags}
      hint="Up to ten, separated by commas: letters, digits, hyphens." />
    ${licenseFields(form, problems)}
    <${Field} label="Address" name="slug" value=${form.slug} required maxlength=${63} autocomplete="off" mono error=${problems.slug}
      hint="Links to the old address still work." />
    ${
      asset.kind === 'model' &&
      html`<${Field} label="Default version" name="lod" type="select" value=${form.lod} error=${problems.lod}
      hint="What the address without a variant serves."
      options=${[
        { value: 'auto', label: 'The lighter one of a large model' },
        { value: 'off', label: 'Always as uploaded' },
      ]} />`
    }
    ${
      games &&
      html`<${Field} label="Game" name="gameId" type="select" value=${form.gameId} error=${problems.gameId} hint=${GAME_HINT} options=${games} />`
    }
  <//>
  ${owned && deletion(asset)}`

const deletion = (asset: AssetRecord): View => html`
  <${Section} title="Delete">
    <${Confirm} label="Delete this asset" action=${`${pathOf(asset)}/delete`}><p>Games that link to it lose it at once. It can't be restored.</p><//>
  <//>`

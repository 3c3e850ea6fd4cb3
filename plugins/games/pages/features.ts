import Type, { type Static, type TArray } from 'typebox'
import { invalidField } from '../../../core/errors.ts'
import { Choices, type Content, DescriptionList, Field, Form, html, Section } from '../../../core/pages/index.ts'
import { canonicalLanguage, languageName } from '../features/languages.ts'
import { ACCESSIBILITY, FeatureChanges, INPUTS, MOST_LANGUAGES, ORIENTATIONS, PLAYERS } from '../features/schemas.ts'
import type { Game } from '../schemas.ts'
import { type CatalogFilter, catalogAddress, optionsOf } from './catalog-filter.ts'

const { inputs, players, accessibility } = FeatureChanges.properties

/** One checked box is sent as a text, several as a list, and none not at all. */
const checked = <List extends TArray>(list: List) => Type.Optional(Type.Union([list.items as List['items'], list]))

export const FeaturesBody = Type.Object({
  inputs: checked(inputs),
  players: checked(players),
  languages: Type.String({ maxLength: 2000 }),
  orientation: Type.Unsafe<keyof typeof ORIENTATIONS | ''>(
    Type.Enum(['', ...Object.keys(ORIENTATIONS)], { default: '' }),
  ),
  accessibility: checked(accessibility),
})

/** Reads the form of the features. @throws InvalidRequest with a sentence for the field of the languages */
export function readFeatures(form: Static<typeof FeaturesBody>): FeatureChanges {
  const languages = form.languages.split(/[\s,]+/).filter(Boolean)
  if (languages.length > MOST_LANGUAGES) throw invalidField('languages', `Name at most ${MOST_LANGUAGES} languages.`)
  return {
    inputs: [form.inputs ?? []].flat(),
    players: [form.players ?? []].flat(),
    languages: languages.map((tag) => canonicalLanguage(tag, 'languages')),
    orientation: form.orientation || null,
    accessibility: [form.accessibility ?? []].flat(),
  }
}

/** The form of the features in the settings of a game. */
export const featuresSection = ({ features }: Game, path: string): Content => html`
  <${Section} layout="side" title="Features" id="features"
    description=${html`Players filter the catalog by them, and its page shows them. Leave out what you do not know. The guide <a href="/docs/game-features">Features of a game</a> explains each.`}>
    <${Form} action=${`${path}/features`} submit="Save" submitLabel="Save features" kind="plain">
      <${Choices} inline multiple legend="Input" name="inputs" value=${features.inputs} options=${optionsOf(INPUTS)}
        hint="What it can be played with. Touch means that a touch screen suffices." />
      <${Choices} inline multiple legend="Players" name="players" value=${features.players} options=${optionsOf(PLAYERS)} />
      <${Field} label="Languages" name="languages" value=${features.languages.join(' ')} required=${false} autocomplete="off" mono
        hint="That of its title first, as language tags: en de pt-BR" />
      <${Field} type="select" label="How a phone is held" name="orientation" value=${features.orientation ?? ''}
        options=${[{ value: '', label: 'Not stated' }, ...optionsOf(ORIENTATIONS)]} />
      <${Choices} inline multiple legend="Accessibility" name="accessibility" value=${features.accessibility} options=${optionsOf(ACCESSIBILITY)} />
    <//>
  <//>`

/** The words of the values of a feature, and the catalog's list of games that have a value. */
interface FactLinks {
  labels: Record<string, string>
  filter: (value: string) => CatalogFilter
}

/** What a game states about itself, with links to the games that state the same; nothing if it states nothing. */
export function featureFacts({ features }: Game): Content {
  const links = (values: readonly string[], { labels, filter }: FactLinks) =>
    values.map(
      (value, index) =>
        html`${index > 0 && ', '}<a href=${catalogAddress(filter(value))}>${labels[value] ?? languageName(value)}</a>`,
    )
  const named = (labels: Record<string, string>, filter: FactLinks['filter']): FactLinks => ({ labels, filter })
  const facts = [
    {
      term: 'Input',
      detail: links(
        features.inputs,
        named(INPUTS, (value) => ({ input: [value] })),
      ),
    },
    {
      term: 'Players',
      detail: links(
        features.players,
        named(PLAYERS, (value) => ({ players: [value] })),
      ),
    },
    {
      term: 'Languages',
      detail: links(
        features.languages,
        named({}, (value) => ({ language: value })),
      ),
    },
    {
      term: 'Phone',
      detail: links(
        features.orientation ? [features.orientation] : [],
        named(ORIENTATIONS, (value) => ({ orientation: value })),
      ),
    },
    {
      term: 'Accessibility',
      detail: links(
        features.accessibility,
        named(ACCESSIBILITY, (value) => ({ accessibility: [value] })),
      ),
    },
  ].filter(({ detail }) => detail.length > 0)
  return facts.length > 0 && html`<${Section} title="Features" id="features"><${DescriptionList} items=${facts} /><//>`
}

import type { TagCount } from '../../../core/data/tag-counts.ts'
import { Button, Choices, type Content, Field, html, Icon } from '../../../core/pages/index.ts'
import { languageName } from '../features/languages.ts'
import { ACCESSIBILITY, INPUTS, ORIENTATIONS, PLAYERS } from '../features/schemas.ts'

/** What the catalog can be filtered by, as its address has it. */
export interface CatalogFilter {
  input?: readonly string[] | undefined
  players?: readonly string[] | undefined
  language?: string | undefined
  orientation?: string | undefined
  accessibility?: readonly string[] | undefined
}

/** What a page of the catalog shows. */
export interface CatalogList extends CatalogFilter {
  q?: string | undefined
  tag?: string | undefined
  sort?: 'new' | 'popular' | undefined
  cursor?: string | undefined
}

/** The parameters of the catalog that have several values. */
const LABELS = { input: INPUTS, players: PLAYERS, accessibility: ACCESSIBILITY } as const

/** Returns the parameters of a list, without those that have their default. */
export const parametersOf = (list: CatalogList): [name: string, value: string][] =>
  Object.entries(list).flatMap(([name, value]) =>
    [value ?? []]
      .flat()
      .filter((each) => each && !(name === 'sort' && each === 'new'))
      .map((each): [string, string] => [name, each]),
  )

/** Returns the address of a page of the catalog. */
export function catalogAddress(list: CatalogList): string {
  const parameters = parametersOf(list)
  return `/catalog${parameters.length > 0 ? `?${new URLSearchParams(parameters)}` : ''}`
}

/** The options of a choice, from its values with their labels. */
export const optionsOf = (labels: Record<string, string>): { value: string; label: string }[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }))

/** A feature that the list is filtered by, and the list without it. */
interface ActiveFilter {
  label: string
  without: CatalogList
}

/** Returns the features that a list is filtered by. */
export function activeFilters(list: CatalogList): ActiveFilter[] {
  const { cursor: _, ...rest } = list
  const { language, orientation } = rest
  return [
    ...Object.entries(LABELS).flatMap(([name, labels]) => {
      const values = rest[name as keyof typeof LABELS] ?? []
      return values.map((value) => ({
        label: (labels as Record<string, string>)[value] ?? value,
        without: { ...rest, [name]: values.filter((other) => other !== value) },
      }))
    }),
    ...(language ? [{ label: languageName(language), without: { ...rest, language: undefined } }] : []),
    ...(orientation
      ? [
          {
            label: ORIENTATIONS[orientation as keyof typeof ORIENTATIONS],
            without: { ...rest, orientation: undefined },
          },
        ]
      : []),
  ]
}

/** The features that the list is filtered by, each with a link that removes it, and the form that changes them. */
export function catalogFilter(list: CatalogList, languages: readonly TagCount[]): Content {
  const { input = [], players = [], language = '', orientation = '', accessibility = [] } = list
  const { q, tag, sort } = list
  const active = activeFilters(list)
  const known = languages.map(({ tag: value }) => value)
  // The language of the filter is an option, although no game may have it.
  const offered = language && !known.includes(language) ? [language, ...known] : known
  const named = offered.map((value) => ({ value, label: languageName(value) }))
  return html`
    <div class="filter-line">
      <details class="filter">
        <summary class="button small">Filter<${Icon} name="chevron" /></summary>
        <div class="card"><form class="form" action="/catalog" method="get" aria-label="Filter">
          ${parametersOf({ q, tag, sort }).map(([name, value]) => html`<input type="hidden" name=${name} value=${value} />`)}
          <${Choices} inline multiple legend="Input" name="input" value=${[...input]} options=${optionsOf(INPUTS)} />
          <${Choices} inline multiple legend="Players" name="players" value=${[...players]} options=${optionsOf(PLAYERS)} />
          <div class="filter-selects">
            <${Field} type="select" label="Language" name="language" value=${language}
              options=${[{ value: '', label: 'Any' }, ...named.sort((a, b) => a.label.localeCompare(b.label, 'en'))]} />
            <${Field} type="select" label="How a phone is held" name="orientation" value=${orientation}
              options=${[{ value: '', label: 'Any' }, ...optionsOf(ORIENTATIONS)]} />
          </div>
          <${Choices} inline multiple legend="Accessibility" name="accessibility" value=${[...accessibility]} options=${optionsOf(ACCESSIBILITY)} />
          <div class="form-actions"><${Button} kind="act">Show games<//></div>
        </form></div>
      </details>
      ${
        active.length > 0 &&
        html`<ul class="tags" aria-label="Active filters">${active.map(
          ({ label, without }) =>
            html`<li><a class="chosen" href=${catalogAddress(without)}><span class="visually-hidden">Remove: </span>${label}<${Icon} name="close" /></a></li>`,
        )}</ul>`
      }
    </div>`
}

import { canonicalLanguage, withGeneral } from './languages.ts'
import { type FeatureChanges, type FeatureQuery, type GameFeatures, UNKNOWN_FEATURES } from './schemas.ts'

/**
 * Returns features with some of them changed, each value once, and languages in canonical form.
 *
 * @throws InvalidRequest for what is no language tag
 */
export function featuresWith(features: GameFeatures | null, changes: FeatureChanges): GameFeatures {
  const { inputs, players, languages, accessibility, orientation } = { ...(features ?? UNKNOWN_FEATURES), ...changes }
  return {
    inputs: distinct(inputs),
    players: distinct(players),
    languages: distinct(languages.map((tag) => canonicalLanguage(tag, 'features.languages'))),
    orientation,
    accessibility: distinct(accessibility),
  }
}

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)]

/** A value of a feature in the index of the catalog. */
export interface FeatureTerm {
  field: keyof FeatureQuery
  value: string
}

/** Returns the terms that a game is found by. A game for both orientations is found by each. */
export function termsOfFeatures(features: GameFeatures): FeatureTerm[] {
  const { inputs, players, languages, orientation, accessibility } = features
  const orientations = orientation === 'any' ? ['any', 'portrait', 'landscape'] : orientation ? [orientation] : []
  return [
    ...termsOf('input', inputs),
    ...termsOf('players', players),
    ...termsOf('language', distinct(languages.flatMap(withGeneral))),
    ...termsOf('orientation', orientations),
    ...termsOf('accessibility', accessibility),
  ]
}

/**
 * Returns the terms of a query, all of which a game must have.
 *
 * @throws InvalidRequest for what is no language tag
 */
export function termsOfFilter({ input, players, language, orientation, accessibility }: FeatureQuery): FeatureTerm[] {
  return [
    ...termsOf('accessibility', distinct(accessibility ?? [])),
    ...termsOf('language', language ? [canonicalLanguage(language, 'language')] : []),
    ...termsOf('orientation', orientation ? [orientation] : []),
    ...termsOf('players', distinct(players ?? [])),
    ...termsOf('input', distinct(input ?? [])),
  ]
}

const termsOf = (field: FeatureTerm['field'], values: readonly string[]): FeatureTerm[] =>
  values.map((value) => ({ field, value }))

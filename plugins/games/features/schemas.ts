import Type, { type Static } from 'typebox'

/** How a game is controlled, with the words of pages. */
export const INPUTS = { touch: 'Touch', keyboard: 'Keyboard', mouse: 'Mouse', gamepad: 'Gamepad' } as const

/** Who plays with whom. */
export const PLAYERS = { single: 'Alone', local: 'Together on one device', online: 'Together online' } as const

/** How a phone may be held. */
export const ORIENTATIONS = { any: 'Portrait and landscape', portrait: 'Portrait', landscape: 'Landscape' } as const

/** What a game does for players with disabilities. `docs/game-features.md` defines each. */
export const ACCESSIBILITY = {
  subtitles: 'Subtitles',
  'no-sound-needed': 'No sound needed',
  'remappable-controls': 'Remappable controls',
  'one-button': 'One button',
  'adjustable-speed': 'Adjustable speed',
  'no-time-limits': 'No time limits',
  'colour-blind-friendly': 'Colour-blind friendly',
  'high-contrast': 'High contrast',
  'large-text': 'Large text',
  'reduced-motion': 'Reduced motion',
  'no-flashing': 'No flashing',
  'screen-reader': 'Screen reader',
} as const

const oneOf = <Values extends object>(values: Values) =>
  Type.Unsafe<keyof Values & string>(Type.Enum(Object.keys(values)))

const Input = oneOf(INPUTS)
const Players = oneOf(PLAYERS)
const Accessibility = oneOf(ACCESSIBILITY)

/** The maximum length of a language tag, which the index of the catalog stores. */
export const LANGUAGE_LENGTH = 24
export const MOST_LANGUAGES = 50
/** `canonicalLanguage` checks the form of a tag, since its message names the tag. */
const Language = Type.String({ maxLength: 100 })

const fields = {
  inputs: Type.Array(Input, {
    maxItems: 10,
    description:
      'What it can be played with. `touch`: a touch screen suffices. A game for keyboard and mouse has both.',
  }),
  players: Type.Array(Players, {
    maxItems: 10,
    description: '`single`: alone; `local`: together on one device; `online`: together over the network.',
  }),
  languages: Type.Array(Language, {
    maxItems: MOST_LANGUAGES,
    description: 'The languages of the game as BCP 47 tags, such as `en` or `pt-BR`; that of its title first.',
  }),
  orientation: Type.Unsafe<keyof typeof ORIENTATIONS | null>({
    enum: [...Object.keys(ORIENTATIONS), null],
    description: 'How a phone is held: `portrait`, `landscape`, or `any` for both.',
  }),
  accessibility: Type.Array(Accessibility, {
    maxItems: 20,
    description: 'Accessibility features; the guide "Features of a game" defines each.',
  }),
}

/** What players filter the catalog by. An empty list, and null, mean that the maker has not stated it. */
export const GameFeatures = Type.Object(fields, {
  description: 'What players filter the catalog by. An empty list, or null, means that it is not known.',
})
export type GameFeatures = Static<typeof GameFeatures>

export const FeatureChanges = Type.Partial(Type.Object(fields), {
  additionalProperties: false,
  description: 'What players filter the catalog by. Fields that are left out keep their value.',
})
export type FeatureChanges = Static<typeof FeatureChanges>

/** The features of a new game. */
export const UNKNOWN_FEATURES: GameFeatures = {
  inputs: [],
  players: [],
  languages: [],
  orientation: null,
  accessibility: [],
}

/** The query parameters that filter a list of games. A game must state everything that is asked for. */
export const FeatureQuery = Type.Object({
  input: Type.Optional(
    Type.Array(Input, { maxItems: 10, description: 'Only games that can be played so; repeat it for several.' }),
  ),
  players: Type.Optional(Type.Array(Players, { maxItems: 10, description: 'Repeat it for several.' })),
  language: Type.Optional(
    Type.String({ maxLength: 100, description: 'A BCP 47 tag. `pt` finds games in `pt-BR` too.' }),
  ),
  orientation: Type.Optional(
    Type.Unsafe<keyof typeof ORIENTATIONS>(
      Type.Enum(Object.keys(ORIENTATIONS), { description: '`portrait` and `landscape` find games for both too.' }),
    ),
  ),
  accessibility: Type.Optional(Type.Array(Accessibility, { maxItems: 20, description: 'Repeat it for several.' })),
})
export type FeatureQuery = Static<typeof FeatureQuery>

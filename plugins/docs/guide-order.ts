/** The reading order for newcomers. A file of `docs/` that is missing here comes last. */
export const ORDER: { title: string; names: string[] }[] = [
  {
    title: 'Begin',
    names: [
      'quick-start',
      'starters',
      'editor',
      'deploys',
      'sign-in',
      'saves',
      'rooms',
      'room-scripts',
      'scores',
      'errors',
    ],
  },
  { title: 'Make', names: ['game-features', 'teams', 'engines', 'ai', 'assets', 'blender', 'accessibility'] },
  { title: 'Tools', names: ['assistants', 'cli', 'sdk', 'adapter'] },
  {
    title: 'Host',
    names: [
      'self-hosting',
      'behind-a-proxy',
      'hosted-services',
      'lan-jam',
      'class',
      'scaling',
      'moderation',
      'selling-credits',
      'security-model',
    ],
  },
  { title: 'Extend', names: ['writing-a-plugin', 'writing-a-driver'] },
]

/** Files of `docs/` that the platform does not show, because they describe the sources. */
export const NOT_GUIDES: readonly string[] = ['architecture']

/** @param names the existing files */
export function groupGuides(names: string[]): { title: string; names: string[] }[] {
  const placed = ORDER.map(({ title, names: wanted }) => ({
    title,
    names: wanted.filter((name) => names.includes(name)),
  }))
  const known = ORDER.flatMap((group) => group.names)
  const others = names.filter((name) => !known.includes(name)).sort()
  return [...placed, { title: 'More', names: others }].filter((group) => group.names.length > 0)
}

const NOT_FOR_MAKERS = new Set(
  ORDER.filter(({ title }) => title === 'Host' || title === 'Extend').flatMap(({ names }) => names),
)

/** Whether a guide is for those who make games, and not for hosts or for authors of plugins. */
export const isForMakers = (name: string): boolean => !NOT_FOR_MAKERS.has(name)

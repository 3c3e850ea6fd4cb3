import Type, { type Static } from 'typebox'

export const Isolation = Type.Object(
  {
    on: Type.Boolean(),
    reason: Type.String({ description: 'In words, such as `game.wasm uses shared memory …`.' }),
  },
  { description: 'Whether it is served cross-origin isolated, which SharedArrayBuffer and threads need, and why.' },
)
export type Isolation = Static<typeof Isolation>

/**
 * Decides whether a deploy is served cross-origin isolated, and says why.
 *
 * @param setting `settings.crossOriginIsolated` of the game
 * @param build null for a deploy that went live before the platform examined builds
 */
export function isolationOf(setting: 'auto' | boolean, build: { sharedMemory: string | null } | null): Isolation {
  const path = build?.sharedMemory ?? null
  if (setting === true) return { on: true, reason: "The game's setting is on." }
  if (setting === 'auto' && path !== null)
    return { on: true, reason: `${path} uses shared memory, which browsers allow only to isolated pages.` }
  if (setting === 'auto')
    return {
      on: false,
      reason: build ? 'No .wasm file uses shared memory.' : 'The build was not examined; deploy it again.',
    }
  return {
    on: false,
    reason:
      path === null
        ? "The game's setting is off."
        : `The game's setting is off, but ${path} uses shared memory and will not run. Choose the automatic setting.`,
  }
}

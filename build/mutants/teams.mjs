/** Mistakes in what the makers of a game may do with what belongs to it. */
export default [
  {
    name: "a maker deletes another maker's asset of their game",
    in: 'plugins/assets',
    find: 'if (playerId === asset.ownerId) return',
    replace: "if (await this.may(playerId, asset, 'make')) return",
    tests: ['plugins/assets/game-assets'],
  },
  {
    name: "a maker moves another maker's asset to a game of their own",
    in: 'plugins/assets',
    find: "if (game !== null) throw new OwnerOnly('of this asset moves it to another game')",
    replace: 'if (game !== null) return game',
    tests: ['plugins/assets/game-assets'],
  },
  {
    name: 'everybody is told to which private game a public asset belongs',
    in: 'plugins/assets',
    find: 'const hides = asset.gameId !== null &&',
    replace: 'const hides = asset.gameId === null &&',
    tests: ['plugins/assets/game-assets'],
  },
  {
    name: "every player lists the private assets of another's game",
    in: 'plugins/assets',
    find: 'await this.#parts.games.mustMake(playerId as string, gameId)',
    replace: 'await this.#parts.games.get(gameId)',
    tests: ['plugins/assets/game-assets'],
  },
  {
    name: 'an asset whose game is deleted stays in it',
    in: 'plugins/assets',
    find: 'await em.nativeUpdate(AssetRow, { gameId }, { gameId: null })',
    replace: 'await em.nativeUpdate(AssetRow, { gameId }, { gameId })',
    tests: ['plugins/assets/game-assets'],
  },
  {
    name: "a maker's change of an asset takes its address from its owner",
    in: 'plugins/assets',
    find: 'if (!(await isFree(em, slug, row.ownerId))) throw',
    replace: 'if (!(await isFree(em, slug, playerId))) throw',
    tests: ['plugins/assets/game-assets'],
  },
]

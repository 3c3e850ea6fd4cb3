import Type from 'typebox'

/** The plugin's values in `limits`. */
export const tokenLimits = {
  tokensPerPlayer: Type.Integer({
    default: 100,
    minimum: 1,
    description: 'API tokens of one player, with those that expired in the last 90 days; and as many of its CLI.',
  }),
}

import type { BuiltinClient } from '../oauth-idp/index.ts'
import type { Tokens } from './tokens.ts'

/** The command line's login: a device that a player approves, and that receives a token with full access. */
export const cliClient = (tokens: Tokens): BuiltinClient => ({
  clientId: 'gameyard-cli',
  name: 'Gameyard command line',
  issue: async (statements, { playerId, request }) => ({
    accessToken: await tokens.createForCli(statements, { playerId, label: request.label }),
  }),
})

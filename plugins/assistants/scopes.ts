import { SCOPES, type Scope } from '../tokens/index.ts'

/** The scopes that a tool can need, with titles for the consent page. */
const TITLES: Partial<Record<Scope, string>> = {
  'games:read': 'See your games',
  'games:write': 'Create and change your games',
  'deployments:write': 'Publish your games',
  'assets:read': 'See your assets',
  'assets:write': 'Upload and change your assets',
  'assets:generate': 'Run Blender jobs for you',
  'ai:generate': 'Spend your credits on AI',
}

/** The scopes of assistants: those of API tokens that the tools use. */
export const resourceScopes = (): Record<string, { title: string; description: string }> =>
  Object.fromEntries(
    Object.entries(TITLES).map(([name, title]) => [name, { title, description: SCOPES[name as Scope] }]),
  )

/** The scopes of API tokens (specification, "Scopes"), with the texts of the settings page. */
export const SCOPES = {
  'assets:read': 'List public assets; read and download your own private ones',
  'assets:write': 'Edit, publish and unpublish assets; cancel Blender jobs',
  'assets:generate': 'Submit Blender jobs',
  'games:read': 'List games, their settings, applications and analytics',
  'games:write': 'Create games, change their settings, upload media',
  'deployments:write': 'Upload and publish builds',
  'oauth:read': 'List OAuth applications and their sign-ins',
  'oauth:write': 'Create and change OAuth applications',
  'ai:generate': 'Generate with AI, paid with your credits',
} as const

export type Scope = keyof typeof SCOPES

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[]

/** Common sets of scopes. The second suits most users. */
export const PRESETS: { id: string; title: string; description: string; scopes: readonly Scope[] }[] = [
  {
    id: 'assets',
    title: 'Assets read-only',
    description: 'Fetch assets in a build or a game',
    scopes: ['assets:read'],
  },
  {
    id: 'builder',
    title: 'Game builder',
    description: 'Create games and deploy builds',
    scopes: ['assets:read', 'games:read', 'games:write', 'deployments:write'],
  },
  { id: 'full', title: 'Full access', description: 'Every scope there is', scopes: ALL_SCOPES },
]

export function installedNode(root: string, platform?: NodeJS.Platform): string
export function npmCommand(from?: {
  platform?: NodeJS.Platform
  node?: string
  npm?: string | null
  exists?: (file: string) => boolean
}): [string, ...string[]]

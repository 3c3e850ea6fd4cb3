export const NODE_FLAGS: string[]
export function allocatorEnvironment(env: NodeJS.ProcessEnv): Record<string, string> | null
export function flagsOf(argv: readonly string[]): string[] | null

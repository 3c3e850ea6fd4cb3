export const FOLDER: string
export function builtProgram(root: string): string | null

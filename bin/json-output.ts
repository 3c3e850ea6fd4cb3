import type { Command } from 'commander'

/** Adds `--json` to a command that has one result. */
export const withJson = (command: Command): Command => command.option('--json', 'as JSON')

/** Prints the result of a command: as JSON with `--json`, in the form of the client's commands, otherwise as text. */
export function printResult({ json }: { json?: true }, value: unknown, text: () => string): void {
  console.log(json ? JSON.stringify(value, null, 2) : text())
}

import type { Command } from 'commander'

/** Adds `--json` to a command that has one result. */
export const withJson = (command: Command): Command => command.option('--json', 'as JSON')

/** Prints the result of a command: as one line of JSON with `--json`, otherwise as text. */
export function printResult({ json }: { json?: true }, value: object, text: () => string): void {
  console.log(json ? JSON.stringify(value) : text())
}

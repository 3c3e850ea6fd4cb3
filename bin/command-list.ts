import type { Command } from 'commander'
import type { Installation } from './installation.ts'

/**
 * Gives a command its description, options and action.
 *
 * @param everything the program with every command loaded, for a command that describes the whole program
 */
type Configure = (command: Command, installation: Installation, everything: () => Promise<Command>) => void

/** A command of the program. Its options and action are loaded only when the command line names it. */
export interface CommandEntry {
  name: string
  summary: string
  group: string
  load(): Promise<{ configure: Configure }>
}

const HOST = 'Host a platform:'
const MAKE = 'Make games:'
const ACCOUNT = 'Your account:'

/** Every command, in the order in which the help lists them. */
export const COMMANDS: CommandEntry[] = [
  entry(HOST, 'serve', 'run the platform', () => import('./commands/serve.ts')),
  entry(HOST, 'worker', 'run jobs only, beside a server', () => import('./commands/worker.ts')),
  entry(HOST, 'init', 'write a configuration, or with --game a gameyard.json', () => import('./commands/init.ts')),
  entry(HOST, 'config', 'check or show the configuration', () => import('./commands/config.ts')),
  entry(HOST, 'admin', 'look after accounts and games, and print the audit', () => import('./commands/admin.ts')),
  entry(HOST, 'keys', 'rotate the keys that sign and seal', () => import('./commands/keys.ts')),
  entry(HOST, 'backup', 'copy everything into one file', () => import('./commands/backup.ts')),
  entry(HOST, 'restore', 'make a data folder from a backup', () => import('./commands/restore.ts')),
  entry(HOST, 'move', 'copy everything into another database or storage', () => import('./commands/move.ts')),
  entry(ACCOUNT, 'login', 'sign in to a platform', () => import('./commands/login.ts')),
  entry(ACCOUNT, 'logout', 'sign out, and revoke the token', () => import('./commands/logout.ts')),
  entry(ACCOUNT, 'whoami', 'show who is signed in, and where', () => import('./commands/whoami.ts')),
  entry(ACCOUNT, 'usage', 'show what you store, and how much you may', () => import('./commands/usage.ts')),
  entry(ACCOUNT, 'tokens', 'the tokens of this machine', () => import('./commands/tokens.ts')),
  entry(MAKE, 'new', 'write a small game to begin with', () => import('./commands/new.ts')),
  entry(MAKE, 'deploy', 'publish a build', () => import('./commands/deploy.ts')),
  entry(MAKE, 'rollback', 'put an earlier deploy live again', () => import('./commands/rollback.ts')),
  entry(MAKE, 'games', 'list, create, change and open games', () => import('./commands/games.ts')),
  entry(MAKE, 'apps', 'OAuth applications, for websites and programs', () => import('./commands/apps.ts')),
  entry(MAKE, 'logs', 'print what the scripts of rooms log', () => import('./commands/logs.ts')),
  entry(MAKE, 'scores', 'list and remove scores of a board', () => import('./commands/scores.ts')),
  entry(MAKE, 'assets', 'find, upload and download models, pictures and sounds', () => import('./commands/assets.ts')),
  entry(MAKE, 'blender', "make models on the platform's machines", () => import('./commands/blender.ts')),
  entry(MAKE, 'ai', 'make text, objects and pictures', () => import('./commands/ai.ts')),
  entry(MAKE, 'dev', 'play a folder here, with sign-in and rooms of the platform', () => import('./commands/dev.ts')),
  entry(MAKE, 'mcp', 'connect a coding assistant to a platform', () => import('./commands/mcp.ts')),
  entry('Other:', 'doctor', 'find out why something does not work', () => import('./commands/doctor.ts')),
  entry('Other:', 'completion', 'make the Tab key complete commands', () => import('./commands/completion.ts')),
  entry('Other:', 'version', 'print the version', () => import('./commands/version.ts')),
]

function entry(group: string, name: string, summary: string, load: CommandEntry['load']): CommandEntry {
  return { group, name, summary, load }
}

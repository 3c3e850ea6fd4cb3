import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

/**
 * Opens an address in the user's browser: `$BROWSER` when it is set, else the system's default.
 *
 * @returns whether a program accepted it; false where there is no screen
 */
export async function openBrowser(url: string, env: NodeJS.ProcessEnv, platform = process.platform): Promise<boolean> {
  for (const command of commandsFor(url, env, platform)) if (await begin(command)) return true
  return false
}

function begin([program, ...arguments_]: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program ?? '', arguments_, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

function commandsFor(url: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string[][] {
  if (env.BROWSER) return env.BROWSER === 'none' ? [] : chosenCommands(env.BROWSER, url, platform)
  if (platform === 'darwin') return [['open', url]]
  // The shell would interpret `&` in the address; rundll32 does not.
  if (platform === 'win32') return [['rundll32', 'url.dll,FileProtocolHandler', url]]
  return env.DISPLAY || env.WAYLAND_DISPLAY ? [['xdg-open', url]] : []
}

/**
 * Parses `$BROWSER`: commands with arguments, separated by colons, of which the first that runs is taken. `%s` in one
 * stands for the address, which is added at the end otherwise. A path with spaces is a program, too.
 */
function chosenCommands(value: string, url: string, platform: NodeJS.Platform): string[][] {
  const commands = platform === 'win32' ? [value] : value.split(':')
  return commands
    .map((command) => command.trim())
    .filter(Boolean)
    .map((command) => {
      const words = existsSync(command)
        ? [command]
        : [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, one, two, plain]) => one ?? two ?? plain ?? '')
      return words.some((word) => word.includes('%s'))
        ? words.map((word) => word.replaceAll('%s', () => url))
        : [...words, url]
    })
}

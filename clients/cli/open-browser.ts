import { spawn } from 'node:child_process'

/**
 * Opens an address in the user's browser: `$BROWSER` when it is set, else the system's default.
 *
 * @returns whether a program accepted it; false where there is no screen
 */
export async function openBrowser(url: string, env: NodeJS.ProcessEnv, platform = process.platform): Promise<boolean> {
  const command = commandFor(url, env, platform)
  if (!command) return false
  const [program, ...arguments_] = command as [string, ...string[]]
  return new Promise((resolve) => {
    const child = spawn(program, arguments_, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

function commandFor(url: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string[] | null {
  if (env.BROWSER) return env.BROWSER === 'none' ? null : [env.BROWSER, url]
  if (platform === 'darwin') return ['open', url]
  // The shell would interpret `&` in the address; rundll32 does not.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open', url] : null
}

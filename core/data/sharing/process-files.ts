/** Files of several processes in one folder: their names begin with the id of the process that writes them. */

/** Begins the name of a file of this process. */
export const OWN_PREFIX = `p${process.pid}-`

/** Whether a file belongs to no process that runs, so that this process may remove it. It writes none before. */
export function isLeftBehind(name: string): boolean {
  const [, digits] = /^p(\d+)-/.exec(name) ?? []
  return digits === undefined || Number(digits) === process.pid || !isAlive(Number(digits))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

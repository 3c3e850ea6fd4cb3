import { chmod, lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { StartupError } from '../core/errors.ts'

/** The owner and the group may connect: the proxy belongs to the group. */
const SOCKET_MODE = 0o660

/**
 * Listens on a Unix socket, in place of one that a killed server has left.
 *
 * @param listen listens on the path
 * @throws StartupError when the path is in use or can't be made
 */
export async function listenOnSocket(path: string, listen: () => Promise<unknown>): Promise<void> {
  const present = await lstat(path).catch(() => null)
  if (present && !present.isSocket())
    throw new StartupError(`${path} is no socket; name another place with listen.socket.`)
  if (present && (await answers(path)))
    throw new StartupError(`The socket ${path} is used by another program; name another with listen.socket.`)
  if (present) await unlink(path)
  try {
    await listen()
    await chmod(path, SOCKET_MODE)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StartupError(
      `The socket ${path} can't be made (${code}); give the service a folder that it may write to.`,
      {
        cause: error,
      },
    )
  }
}

const answers = (path: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })

const WORKER = '/__service/frame-worker.js'
const TRIED = 'service:frame-files'
/** Within this time a second attempt would end like the first. */
const AGAIN_MS = 10_000

/** Returns this browser's service workers. Insecure contexts and frames with blocked storage have none. */
const workers = (): ServiceWorkerContainer | null => (isSecureContext && navigator.serviceWorker) || null

const ours = (registration: ServiceWorkerRegistration | undefined): boolean =>
  registration?.active?.scriptURL === new URL(WORKER, location.origin).href

/**
 * Starts the service worker that authorises requests for the files of a private game. Where the browser keeps no cookie
 * in a frame, only a service worker can authorise each request. The page shown in place of the game calls this.
 *
 * @returns whether the page should be loaded again, through the worker
 */
export async function openPrivateFiles(token: string): Promise<boolean> {
  const container = workers()
  const last = Number(sessionStorage.getItem(TRIED))
  if (!container || Date.now() - last < AGAIN_MS) return false
  sessionStorage.setItem(TRIED, String(Date.now()))
  await container.register(WORKER, { scope: '/' })
  const { active } = await container.ready
  if (!active) return false
  await tell(active, token)
  return true
}

/**
 * Sends the token to the worker, which stores nothing, and unregisters the worker when the session ends. While it is
 * registered, the game cannot register a worker for the same pages: that would replace this one and shut the player
 * out.
 */
export function shareTokenWithWorker(token: () => string | null): void {
  const container = workers()
  if (!container) return
  container.addEventListener('message', ({ data, ports }) => {
    if (data?.type === 'service:frame-token') ports[0]?.postMessage(token())
  })
  const register = container.register.bind(container)
  container.register = async (script, options) => {
    const registration = script === WORKER ? undefined : await container.getRegistration('/')
    const scope = new URL(options?.scope ?? './', new URL(script, document.baseURI)).pathname
    return registration && ours(registration) && scope === '/' ? registration : register(script, options)
  }
}

/** Removes the worker after the player has signed out. */
export async function closePrivateFiles(): Promise<void> {
  const registration = await workers()?.getRegistration('/')
  if (registration && ours(registration)) await registration.unregister()
}

function tell(worker: ServiceWorker, token: string): Promise<void> {
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    port1.onmessage = () => resolve()
    worker.postMessage({ type: 'service:frame-token', token }, [port2])
  })
}

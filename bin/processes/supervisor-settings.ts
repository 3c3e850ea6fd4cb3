/** The variable by which a program that is about to supervise tells itself what it has read from the configuration. */
export const SUPERVISOR_VARIABLE = 'GAMEYARD_SUPERVISOR'

/** What a supervisor needs of the configuration. It loads nothing else, and so needs little memory. */
export interface SupervisorSettings {
  count: number
  host: string
  /** The port of the portal, which was picked if the configuration has none. */
  port: number
  /** All ports to listen on. */
  ports: number[]
  dataDir: string
  /** Address of the portal. */
  address: string
  /** The socket of the bus, relative to the data folder; null for another driver. */
  bus: string | null
  shutdownSeconds: number
  /** The level of the log. */
  level: string
}

/** Returns the settings of a program that is to supervise, once. */
export function takeSupervisorSettings(env: NodeJS.ProcessEnv): SupervisorSettings | null {
  const text = env[SUPERVISOR_VARIABLE]
  if (!text) return null
  delete env[SUPERVISOR_VARIABLE]
  return JSON.parse(text)
}

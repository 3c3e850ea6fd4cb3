import type { FastifyInstance } from 'fastify'
import { AdmissionRevalidation } from './admission/revalidation.ts'
import { Connections } from './connections.ts'
import { ClusterDirectory, type RoomDirectory, SingleNodeDirectory } from './directory.ts'
import { Rooms } from './hosting/rooms.ts'
import { WriteCoalescer } from './hosting/write-coalescing.ts'
import { RoomJournal } from './journal/room-journal.ts'
import type { MultiplayerLimits } from './schemas.ts'
import { StoredScriptLogs } from './script-logs/script-logs.ts'
import { scriptBackends } from './scripts/backends.ts'
import { ScriptRuntime } from './scripts/script-runtime.ts'

interface Services {
  directory: RoomDirectory
  connections: Connections
  revalidation: AdmissionRevalidation
  rooms: Rooms
  scripts: ScriptRuntime
  logs: StoredScriptLogs
  journal: RoomJournal
}

/** Connects rooms, their sockets, scripts, logs and journal with each other and with the platform. */
export function createServices(app: FastifyInstance, limits: MultiplayerLimits): Services {
  const coalescer = new WriteCoalescer()
  const { clock, log } = app
  const count = (gameId: string, players: number) => app.games.count.present(gameId, players)
  const program = () => app.workerPrograms.text('script-sandbox')
  const scripts = new ScriptRuntime({
    clock,
    log,
    limits,
    program,
    backends: scriptBackends(app),
    load: (gameId, source) => app.deploys.roomScripts.load(gameId, source),
  })
  const rooms = new Rooms({ clock, limits, coalescer, log, scripts, count })
  const journal = new RoomJournal(app, { isShared: app.bus.shared })
  const directory: RoomDirectory = app.bus.shared
    ? new ClusterDirectory({ bus: app.bus, rooms, scripts, journal: app.bus.outlivesNodes ? null : journal, log })
    : new SingleNodeDirectory({ rooms, scripts, journal })
  const connections = new Connections(app.clock, limits.roomUnsentBytes)
  const revalidation = new AdmissionRevalidation(app, connections)
  const logs = new StoredScriptLogs(app)
  scripts.logs = logs
  return { directory, connections, revalidation, rooms, scripts, logs, journal }
}

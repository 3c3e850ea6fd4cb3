import { writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { CliError, fileReason } from './errors.ts'
import { type FoundProject, PROJECT_FILE, writeProject } from './project.ts'

/** The name of a new script. */
const SCRIPT_FILE = 'room.js'

/** A room script to begin with: players steer, and the script moves them. */
export const ROOM_TEMPLATE = `// The script of the game's rooms. It runs on the platform, where no player can change it.
// Types for your editor: npm install --save-dev PLATFORM/download/gameyard-room.tgz, with the platform's address
/** @import { Join, Leave, Message, Settings, Tick } from '@gameyard/room' */

/** @type {Settings} */
export const settings = { tick: 20, players: 8 }

const SIZE = 100
const SPEED = 20 // a second

/** Each room has variables of its own. These are the players' directions by id. */
const directions = new Map()

const clamp = (value) => Math.max(0, Math.min(SIZE, value))

/** @type {Join} */
export function join(room, player) {
  directions.set(player.id, { x: 0, y: 0 })
  room.state.set(player.id, { x: SIZE / 2, y: SIZE / 2 })
}

/** In the browser: room.send('steer', { x: 1, y: 0 }). A player can send anything, so check it. @type {Message} */
export function message(room, player, type, data) {
  if (type !== 'steer') return
  directions.set(player.id, { x: Math.sign(data?.x) || 0, y: Math.sign(data?.y) || 0 })
}

/** In the browser: room.on('state', () => room.state.get(player.id)). @type {Tick} */
export function tick(room, seconds) {
  for (const { id } of room.players) {
    const { x, y } = directions.get(id)
    if (x === 0 && y === 0) continue
    const at = room.state.get(id)
    room.state.set(id, { x: clamp(at.x + x * SPEED * seconds), y: clamp(at.y + y * SPEED * seconds) })
  }
}

/** @type {Leave} */
export function leave(room, player) {
  directions.delete(player.id)
  room.state.delete(player.id)
}
`

/** The written files: the script, and the gameyard.json that names it now; null when there is none. */
export interface WrittenRoomScript {
  script: string
  project: string | null
}

/**
 * Writes a first room script into the build folder of a project, and its name into gameyard.json. Without a project it
 * writes the script into a folder.
 *
 * @throws CliError when there is a script already
 */
export async function writeRoomScript(project: FoundProject | null, cwd: string): Promise<WrittenRoomScript> {
  if (project?.room !== undefined) {
    throw new CliError(`${project.file} names a room script already: ${project.room}.`, { code: 'room_script_exists' })
  }
  const script = join(project?.buildFolder ?? cwd, SCRIPT_FILE)
  await writeFile(script, ROOM_TEMPLATE, { flag: 'wx' }).catch((error) => {
    if (error.code === 'EEXIST') {
      const hint = `Name it in ${PROJECT_FILE}: "room": "${SCRIPT_FILE}"`
      throw new CliError(`${script} is there already.`, { code: 'room_script_exists', hint })
    }
    throw new CliError(`${script} can't be written: ${fileReason(error)}.`)
  })
  if (!project) return { script, project: null }
  const { file, buildFolder, ...content } = project
  const room = relative(buildFolder, script)
  return { script, project: await writeProject(dirname(file), { ...content, room }, { force: true }) }
}

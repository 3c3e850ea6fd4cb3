import { readFile } from 'node:fs/promises'
import type { Build } from '../../clients/cli/deploy/folder.ts'
import type { RoomScript } from '../../clients/cli/deploy/room-script.ts'
import type { Check } from '../../clients/cli/doctor.ts'
import type { CliError } from '../../clients/cli/errors.ts'
import type { FoundProject } from '../../clients/cli/project.ts'

/** The maximum number of refused paths that are listed. */
const SHOWN = 10
const ROOM_SCRIPT = 'Room script'

/**
 * Examines a folder as a deploy would, without a platform.
 *
 * @param findProject finds the gameyard.json that a deploy of the folder would use
 */
export async function* diagnoseBuild(
  folder: string,
  findProject: () => Promise<FoundProject | null>,
): AsyncGenerator<Check> {
  const [
    { CliError },
    { readBuild },
    { prepareRoomScript, withRoomScript },
    { formatBytes, plural },
    { problemOf },
    { isolationOf },
    { examineFiles },
  ] = await Promise.all([
    import('../../clients/cli/errors.ts'),
    import('../../clients/cli/deploy/folder.ts'),
    import('../../clients/cli/deploy/room-script.ts'),
    import('../../clients/cli/terminal.ts'),
    import('../../plugins/deploy/manifest/paths.ts'),
    import('../../plugins/deploy/builds/isolation.ts'),
    import('../examine-folder.ts'),
  ])
  const name = 'Folder'
  let build: Awaited<ReturnType<typeof readBuild>>
  try {
    build = await readBuild(folder)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    yield failed(name, error)
    return
  }
  let script: RoomScript | null = null
  let scriptPath: string | null = null
  try {
    const project = await findProject()
    script = project && (await prepareRoomScript(project, folder))
    if (script) {
      build = withRoomScript(build, script)
      scriptPath = script.path
      yield* await roomScript(script, build)
    }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    yield failed(error.code === 'project' ? 'gameyard.json' : ROOM_SCRIPT, error)
  } finally {
    await script?.remove()
  }
  const { files, leftOut } = build
  const size = formatBytes(files.reduce((sum, file) => sum + file.size, 0))
  yield {
    name,
    status: 'ok',
    message: `${folder}: ${plural(files.length, 'file')}, ${size}${leftOut.length > 0 ? `; left out: ${leftOut.join(', ')}` : ''}`,
  }
  const refused = files.flatMap(({ path }) => {
    const problem = problemOf(path)
    return problem ? [`${path} ${problem}`] : []
  })
  for (const message of refused.slice(0, SHOWN)) yield { name: 'Path', status: 'failed', message }
  // Nobody can load the room script, so it is no part of what browsers get.
  const served = files.filter(({ path }) => path !== scriptPath)
  const { engine, notes, sharedMemory } = await examineFiles(served)
  yield {
    name: 'Engine',
    status: 'ok',
    message: engine ? [engine.name, engine.version].filter(Boolean).join(' ') : 'none that the platform knows',
  }
  const { on, reason } = isolationOf('auto', { sharedMemory })
  yield { name: 'Isolation', status: 'ok', message: `${on ? 'on' : 'off'} (automatic): ${reason}` }
  for (const { level, message } of notes) yield { name: 'Build', status: level === 'info' ? 'ok' : 'warning', message }
}

const failed = (name: string, { message, hint }: CliError): Check => ({
  name,
  status: 'failed',
  message,
  ...(hint ? { hint } : {}),
})

/** Checks a room script as the platform does at the deploy. */
async function roomScript(script: RoomScript, build: Build): Promise<Check[]> {
  const { path, file, size, bundled } = script
  const [{ exposedFiles, exposedWarning }, { inspectScript }, { ROOM_SCRIPT_BYTES }, { formatBytes }] =
    await Promise.all([
      import('../../clients/cli/deploy/exposed-files.ts'),
      import('../../plugins/deploy/room-script/inspect.ts'),
      import('../../plugins/deploy/manifest/check-files.ts'),
      import('../../core/format-bytes.ts'),
    ])
  const refused = (message: string): Check[] => [{ name: ROOM_SCRIPT, status: 'failed', message }]
  if (path === 'index.html') return refused(`${path} is the page of the game, and no room script`)
  if (size > ROOM_SCRIPT_BYTES)
    return refused(`${path} is larger than ${formatBytes(ROOM_SCRIPT_BYTES)}, the most that a room script may have`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))
  } catch {
    return refused(`${path} is not UTF-8 text`)
  }
  const { problem, notes } = inspectScript(text)
  if (problem) return refused(`${path}:${problem.line}:${problem.column}: ${problem.message}`)
  const how = bundled ? ', bundled with what it imports' : ''
  const exposed = exposedWarning(await exposedFiles(build, script))
  return [
    { name: ROOM_SCRIPT, status: 'ok', message: `${path}${how}; no browser gets it` },
    ...notes.map(({ level, message }): Check => {
      return { name: ROOM_SCRIPT, status: level === 'info' ? 'ok' : 'warning', message: `${path} ${message}` }
    }),
    ...(exposed ? [{ name: ROOM_SCRIPT, status: 'warning', message: exposed } as const] : []),
  ]
}

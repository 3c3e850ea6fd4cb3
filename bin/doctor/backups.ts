import { access, constants, lstat, readdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Check } from '../../clients/cli/doctor.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { namesOfBackups, timeOfBackup } from '../scheduled-backups.ts'
import { readServiceUnit } from '../service-unit.ts'

const NAME = 'Backups'
/** The time within which a scheduled backup is finished. */
const FINISHED_AFTER_MS = 6 * 3_600_000

/** Checks that the platform can write its scheduled backups, and that the latest one is there. */
export async function backups({ config, configDir, file }: LoadedConfig): Promise<Check> {
  const { schedule, to } = config.backup
  if (!schedule)
    return {
      name: NAME,
      status: 'ok',
      message: 'none are scheduled; backup.schedule and backup.to make one every night',
    }
  if (typeof to !== 'string') return { name: NAME, status: 'ok', message: 'scheduled, to a bucket' }
  const folder = resolve(configDir, to)
  const fault = await faultOf(folder, config.dataDir, file === null ? null : resolve(file))
  if (fault) return { name: NAME, status: 'failed', ...fault }
  const latest = namesOfBackups(await readdir(folder).catch(() => [])).at(-1)
  const { Cron } = await import('croner')
  const [due] = new Cron(schedule, { paused: true }).previousRuns(1)
  const isDue = due !== undefined && Date.now() - due.getTime() > FINISHED_AFTER_MS
  if (isDue && (!latest || timeOfBackup(latest) < due)) {
    const message = latest ? `the latest in ${folder} is ${latest}` : `there is none in ${folder} yet`
    return { name: NAME, status: 'warning', message, hint: 'One was due since. The log of the platform says why.' }
  }
  return { name: NAME, status: 'ok', message: `scheduled, to ${folder}` }
}

/** Says why the service can't write to a folder; null when it can. */
async function faultOf(
  folder: string,
  dataDir: string,
  config: string | null,
): Promise<Pick<Check, 'message' | 'hint'> | null> {
  const unit = readServiceUnit()
  if (unit && unit.config === config && !unit.lets(folder)) {
    return {
      message: `the service may not write to ${folder}, since its unit has ProtectSystem=strict`,
      hint: `systemctl edit gameyard, with the lines: [Service] and ReadWritePaths=-${folder}`,
    }
  }
  const there = await nearest(folder)
  if (!(await stat(there).catch(() => null))?.isDirectory())
    return {
      message: `${there} is no folder, or a link that leads nowhere`,
      hint: 'Move it away, or change backup.to.',
    }
  const service = await stat(dataDir).catch(() => null)
  const user = process.getuid?.()
  // Root may write anywhere, and the service may not.
  const mayWrite =
    user === 0 && service && service.uid !== 0
      ? await isWritableBy(there, service)
      : await access(there, constants.W_OK).then(
          () => true,
          () => false,
        )
  if (mayWrite) return null
  return {
    message: `the platform can't write to ${there}`,
    hint: `Make the folder for its user: install -d -o USER -m 700 ${folder}`,
  }
}

/** Whether the owner of the data folder may write to a folder, by its mode. */
async function isWritableBy(folder: string, { uid, gid }: { uid: number; gid: number }): Promise<boolean> {
  const { mode, ...owner } = await stat(folder)
  if (owner.uid === uid) return (mode & constants.S_IWUSR) !== 0
  if (owner.gid === gid) return (mode & constants.S_IWGRP) !== 0
  return (mode & constants.S_IWOTH) !== 0
}

/** Returns the folder, or its nearest existing parent, in which the platform would make it. */
async function nearest(folder: string): Promise<string> {
  const there = await lstat(folder).catch(() => null)
  return there ? folder : nearest(dirname(folder))
}

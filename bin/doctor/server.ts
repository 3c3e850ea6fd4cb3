import { access, lstat, readdir, stat, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Check } from '../../clients/cli/doctor.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { formatProblem } from '../../config/problems.ts'
import { migrationsOf } from '../../core/boot/database.ts'
import { systemClock } from '../../core/clock.ts'
import { missingRoom } from '../../core/data/backups/migration-backup.ts'
import { assertClockNotBehind, assertClocksAgree } from '../../core/data/data-folder.ts'
import type { DatabaseDriver } from '../../core/data/database.ts'
import { compareMigrations, tablesOfRemoved } from '../../core/data/migrations.ts'
import { lastVersion } from '../../core/data/program-versions.ts'
import type { Bus } from '../../core/events.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import type { BlenderExecutor } from '../../drivers/blender/interface.ts'
import type { Mail } from '../../drivers/mail/interface.ts'
import type { Storage } from '../../drivers/storage/interface.ts'
import { otherOwnerOf } from '../data-folder-owner.ts'
import { openDriver } from '../open-driver.ts'
import { backups } from './backups.ts'
import { hasDatabase } from './database-file.ts'
import { gameDomains } from './domains.ts'
import { certificateFiles, isClockSynchronised, names, plainHttp, portal } from './network.ts'
import { payments } from './payments.ts'

const MIB = 1024 ** 2

type Finding = Check | Check[]

/**
 * Checks everything that a platform depends on, in the order in which it is needed. Each check yields a finding, with a
 * fix for a fault. The checks change nothing, and may run beside the platform.
 *
 * @param version version of this program
 * @param recipient address of a message to send
 */
export async function* diagnoseServer(
  loaded: LoadedConfig,
  version: string,
  recipient?: string,
): AsyncGenerator<Check> {
  const { config } = loaded
  yield configuration(loaded)
  const other = await otherOwnerOf(config.dataDir)
  // To this user most of it would look as if it were missing.
  if (other && !other.readable) return yield failed('Data folder', other.message, other.hint)
  // Each check has the fix for an unexpected error.
  const looks: [string, () => Promise<Finding>, string][] = [
    ['Data folder', () => dataFolder(config.dataDir), 'Check dataDir.'],
    ['Disk', () => disk(config.dataDir), 'Check dataDir.'],
    ['Clock', () => clock(config.dataDir), 'Let the system set its clock from the network.'],
    ['Database', () => database(loaded, version), 'Check `database` in the configuration, and that its server runs.'],
    ['Storage', () => storage(loaded), 'Check `storage` in the configuration, and that its server runs.'],
    ['Bus', () => bus(loaded), 'Check `bus` in the configuration, and that its server runs.'],
    ['Mail', () => mail(loaded, recipient), 'Check `mail` in the configuration.'],
    ['Payments', () => payments(loaded), 'Check `payments` in the configuration. See /docs/selling-credits.'],
    ['Blender', () => blender(loaded), 'Check `blender` in the configuration.'],
    ['Names', () => names(config), 'Check portal.url and games.domain.'],
    ['Certificate files', () => certificateFiles(config), 'Check listen.tls.'],
    ['Plain http', () => plainHttp(config), 'Check listen.tls.redirectPort.'],
    ['Domains', () => gameDomains(loaded), 'Check `database` in the configuration.'],
    ['Backups', () => backups(loaded), 'Check `backup` in the configuration.'],
    ['Portal', () => portal(config), 'Check portal.url.'],
    ['Proxy', async () => proxy(config), 'Check trustProxy.'],
  ]
  for (const [name, look, fix] of looks) {
    const found = await look().catch((error) => failed(name, sentence((error as Error).message), fix))
    yield* [found].flat()
  }
}

const ok = (name: string, message: string): Check => ({ name, status: 'ok', message })
const failed = (name: string, message: string, hint?: string): Check => ({
  name,
  status: 'failed',
  message,
  ...(hint ? { hint } : {}),
})
const warning = (name: string, message: string, hint: string): Check => ({ name, status: 'warning', message, hint })
const sentence = (text: string) => text.replace(/\.$/, '')

function configuration({ file, problems }: LoadedConfig): Check {
  const [first] = problems
  if (first) return warning('Configuration', sentence(formatProblem(first)), 'See `gameyard config check`.')
  return ok('Configuration', file ?? 'no file; defaults and environment')
}

/** Checks the mode of the folder: other users of this machine must have no access. */
async function dataFolder(dataDir: string): Promise<Finding> {
  const name = 'Data folder'
  const folder = await stat(dataDir).catch(() => null)
  if (!folder && (await lstat(dataDir).catch(() => null)))
    return failed(name, `${dataDir} is a link that leads nowhere`, 'Make the folder that it names, or remove it.')
  if (!folder) return warning(name, `there is no ${dataDir} yet`, 'The first start makes it.')
  if (!folder.isDirectory()) return failed(name, `${dataDir} is no folder`, 'Move that file away, or change dataDir.')
  const other = await otherOwnerOf(dataDir)
  if (other) return failed(name, other.message, other.hint)
  if (process.platform !== 'win32') {
    const foreign = await belongingToOthers(dataDir, folder.uid)
    if (foreign !== null)
      return failed(
        name,
        `${foreign} belongs to another user than ${dataDir}`,
        `As root: chown -R ${folder.uid}:${folder.gid} ${dataDir}`,
      )
    const key = join(dataDir, 'keys/secret')
    const secret = (await stat(key).catch(() => null))?.mode ?? 0
    if ((folder.mode & 0o007) !== 0) {
      const open = `${dataDir} is open to every user of this machine, and holds secrets`
      return failed(name, open, `chmod 700 ${dataDir}`)
    }
    if ((secret & 0o007) !== 0) return failed(name, `${key} can be read by others`, `chmod 600 ${key}`)
  }
  return ok(name, dataDir)
}

/** Returns the first file of the data folder or of its keys that belongs to another user, as after a command of root. */
async function belongingToOthers(dataDir: string, owner: number): Promise<string | null> {
  for (const folder of [dataDir, join(dataDir, 'keys')]) {
    for (const entry of await readdir(folder).catch(() => [])) {
      const path = join(folder, entry)
      if (entry !== 'lost+found' && ((await stat(path).catch(() => null))?.uid ?? owner) !== owner) return path
    }
  }
  return null
}

async function disk(dataDir: string): Promise<Check> {
  const { bavail, bsize, ffree, files } = await statfs(await existing(dataDir))
  const free = bavail * bsize
  const fix = 'Make room, or move the data folder to a larger disk.'
  if (free < 200 * MIB) return failed('Disk', `only ${formatBytes(free)} are free for ${dataDir}`, fix)
  if (files > 0 && ffree < 1000) return failed('Disk', `the file system of ${dataDir} is out of file entries`, fix)
  if (free < 2048 * MIB) return warning('Disk', `${formatBytes(free)} are free for ${dataDir}`, fix)
  return ok('Disk', `${formatBytes(free)} are free`)
}

/** Returns the folder, or its nearest existing parent. */
async function existing(folder: string): Promise<string> {
  const there = await access(folder).then(
    () => true,
    () => false,
  )
  return there ? folder : existing(join(folder, '..'))
}

async function clock(dataDir: string): Promise<Check> {
  await assertClockNotBehind(await existing(dataDir), systemClock)
  const state = await isClockSynchronised()
  if (state !== false) return ok('Clock', state ? 'set from the network' : 'agrees with the data folder')
  const hint = 'Sign-ins and signed addresses depend on it: timedatectl set-ntp true'
  return warning('Clock', 'it is not set from the network', hint)
}

async function database(loaded: LoadedConfig, version: string): Promise<Finding> {
  const { dataDir } = loaded.config
  const driver = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
  if (!(await hasDatabase(loaded, driver))) return ok('Database', 'none yet; the first start makes it')
  const damage = await driver.findDamage?.()
  if (damage) {
    await driver.close()
    return failed('Database', `the database is damaged (${damage})`, 'Stop the platform and restore a backup.')
  }
  try {
    await driver.open([])
    await driver.query('select 1', [])
    if (driver.now) assertClocksAgree(await driver.now(), systemClock)
    return [ok('Database', driver.shared ? 'answers' : 'whole'), ...(await update(loaded, driver, version))]
  } finally {
    await driver.close()
  }
}

/** Lists the migrations that a start of this program would run. */
async function update(loaded: LoadedConfig, driver: DatabaseDriver, version: string): Promise<Check[]> {
  const { plugins, disabled } = loaded
  const { lacking, unknown, removed } = await compareMigrations(driver, migrationsOf(plugins, disabled))
  const name = 'Update'
  const others = removed.map(withoutPlugin)
  const last = unknown.at(-1)
  if (last) {
    const newer = `the database holds ${last.name}, which this program does not know`
    return [failed(name, newer, 'Start the version that wrote it, or go back: gameyard restore --database FILE')]
  }
  if (lacking.length === 0) return [ok(name, 'the database is up to date'), ...others]
  const from = await lastVersion(driver)
  const way = `${from === null ? '' : `from ${from} `}to ${version}`
  const steps = `a start brings the database ${way}, by ${lacking.length} ${lacking.length === 1 ? 'step' : 'steps'}`
  if (driver.shared)
    return [warning(name, steps, `Make a dump first: pg_dump --format=custom --file=before-${version}.dump`), ...others]
  const { dataDir } = loaded.config
  const trouble = await missingRoom(driver, dataDir)
  const copy = `${steps}, after a copy into ${join(dataDir, 'backups')}`
  return [trouble === null ? ok(name, copy) : failed(name, trouble, 'Make room there before the update.'), ...others]
}

/** The tables of a plugin that was removed from the configuration. */
const withoutPlugin = (plugin: string): Check =>
  warning('Plugins', tablesOfRemoved(plugin), 'Add it again, as false if it is to stay off, or remove its tables.')

async function storage(loaded: LoadedConfig): Promise<Check> {
  const { dataDir, storage } = loaded.config
  const { driver, path = '' } = storage as { driver: string; path?: string }
  if (driver === 'local' && !(await stat(resolve(dataDir, path)).catch(() => null)))
    return ok('Storage', 'none yet; the first start makes it')
  const instance = await openDriver<Storage & { ping?(): Promise<void> }>(loaded, 'storage', dataDir)
  try {
    await instance.ping?.()
    return ok('Storage', `${driver} answers`)
  } finally {
    await instance.close()
  }
}

async function bus(loaded: LoadedConfig): Promise<Check> {
  const { driver } = loaded.config.bus as { driver: string }
  const instance = await openDriver<Bus & { close?(): Promise<void> }>(loaded, 'bus', loaded.config.dataDir)
  try {
    await instance.ping()
    return ok('Bus', `${driver} answers`)
  } finally {
    await instance.close?.()
  }
}

async function mail(loaded: LoadedConfig, recipient: string | undefined): Promise<Check> {
  const { driver } = loaded.config.mail as { driver: string }
  if (driver === 'log') {
    const hint = 'Players then cannot reset their passwords. Set mail: { driver: smtp, url, from }.'
    return warning('Mail', 'messages are only written to the log', hint)
  }
  const instance = await openDriver<Mail>(loaded, 'mail', loaded.config.dataDir)
  try {
    if (recipient !== undefined && instance.converse) {
      const { name } = loaded.config.portal
      const text = `This message of ${name} was sent by \`gameyard doctor --mail\`. It needs no answer.\n`
      const { failure, lines } = await instance.converse({ to: recipient, subject: `A test of ${name}`, text })
      if (failure === null) return { ...ok('Mail', `the mail server took a message to ${recipient}`), details: lines }
      return { ...failed('Mail', sentence(failure), 'Check `mail` in the configuration.'), details: lines }
    }
    await instance.verify?.()
    return ok('Mail', 'the mail server takes messages')
  } catch (error) {
    return failed('Mail', `the mail server does not take us: ${sentence((error as Error).message)}`, 'Check mail.url.')
  } finally {
    await instance.close()
  }
}

async function blender(loaded: LoadedConfig): Promise<Check> {
  const { driver } = loaded.config.blender as { driver: string }
  if (driver === 'none') return ok('Blender', 'turned off')
  const executor = await openDriver<BlenderExecutor>(loaded, 'blender', loaded.config.dataDir)
  try {
    const found = await executor.check()
    if (found.available) {
      if (!found.missing) return ok('Blender', `${found.blenderVersion}, contained by ${executor.name}`)
      const [what, fix] = found.missing.split('; ')
      return warning(
        'Blender',
        `${found.blenderVersion}: ${what}`,
        `${fix?.replace(/^./, (letter) => letter.toUpperCase())}`,
      )
    }
    return warning(
      'Blender',
      sentence(found.reason),
      'Debian: apt install blender bubblewrap. Or turn it off: blender: { driver: none }.',
    )
  } finally {
    await executor.close()
  }
}

function proxy({ portal: { url }, trustProxy, listen }: LoadedConfig['config']): Check {
  if (trustProxy === true)
    return failed(
      'Proxy',
      'trustProxy: true believes anyone',
      'Name the addresses of your proxy: trustProxy: [127.0.0.1]',
    )
  if (listen.tls.cert)
    return ok('Proxy', trustProxy === false ? 'none; own https' : `trusts ${[trustProxy].flat().join(', ')}`)
  if (url.startsWith('https:') && trustProxy === false) {
    const hint = 'Without its address all visitors look like one: trustProxy: [127.0.0.1]'
    return warning('Proxy', 'https comes from a proxy that is not trusted', hint)
  }
  if (url.startsWith('https:') && listen.host === '0.0.0.0')
    return warning(
      'Proxy',
      `port ${listen.port} is open to the network beside the proxy`,
      'With the proxy on this machine: listen: { host: 127.0.0.1 }. Otherwise let the firewall close it.',
    )
  return ok('Proxy', trustProxy === false ? 'none' : `trusts ${[trustProxy].flat().join(', ')}`)
}

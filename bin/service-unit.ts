import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Where `deploy/gameyard.service` is installed, and what `systemctl edit` adds to it. */
const UNIT = '/etc/systemd/system/gameyard.service'
const FILES = [UNIT, `${UNIT}.d/override.conf`]

/** The installed service of systemd. */
export interface ServiceUnit {
  /** The configuration that it starts with. */
  config: string | undefined
  /** Whether its sandbox lets the service write to a folder. @param folder absolute */
  lets(folder: string): boolean
}

/** Reads the installed unit; null when there is none. */
export function readServiceUnit(): ServiceUnit | null {
  if (!existsSync(UNIT)) return null
  const text = FILES.filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const valuesOf = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '')
  const listed = (name: string) => valuesOf(name).flatMap((value) => value.split(/\s+/).filter(Boolean))
  const writable = [
    ...listed('StateDirectory').map((name) => `/var/lib/${name}`),
    // A minus allows that the folder is missing, a plus makes it relative to the root of the service.
    ...listed('ReadWritePaths').map((path) => path.replace(/^[-+]+/, '')),
  ]
  return {
    config: /\s--config[ =](\S+)/.exec(valuesOf('ExecStart').at(-1) ?? '')?.[1],
    lets: (folder) => valuesOf('ProtectSystem').at(-1) !== 'strict' || writable.some((path) => contains(path, folder)),
  }
}

const contains = (outer: string, inner: string): boolean => !relative(outer, inner).startsWith('..')

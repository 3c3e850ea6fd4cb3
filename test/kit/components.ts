import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'

/** Debian's packages, by the program that a test needs of them. What is not here has its program's name. */
const PACKAGES: Record<string, string> = {
  blender: 'blender python3-numpy',
  bwrap: 'bubblewrap',
  dockerd: 'docker.io',
  docker: 'docker.io',
  ip: 'iproute2',
  WebKitWebDriver: 'webkit2gtk-driver',
  Xvfb: 'xvfb',
  'swift-proxy-server': 'swift-proxy swift-account swift-container swift-object python3-swift memcached',
  'systemd-analyze': 'systemd',
}

/** In these words, since `npm test` counts at its end how many tests wait for a component. */
export const absent = (program: string): string =>
  `${program} is not installed (Debian: apt install ${PACKAGES[program] ?? program})`

/** Whether a program can be started here, by its name. */
export const isPresent = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' }).status === 0

/** Whether programs that a test needs are here. When not, it is marked as skipped; under CI=true it has failed. */
export function hasPrograms(t: Test, ...programs: string[]): boolean {
  const missing = programs.find((program) => !isPresent(program))
  if (missing === undefined) return true
  skipWithout(t, missing)
  return false
}

/** Marks a test as skipped for want of a program. Under CI=true, where everything is installed, that is a failure. */
export function skipWithout(t: Test, program: string): void {
  if (process.env.CI === 'true') t.fail(absent(program))
  else t.pass(absent(program), { skip: absent(program) })
}

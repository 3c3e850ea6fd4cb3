import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'

/** The Debian packages of programs that tests need. A program that is not listed has a package of its own name. */
const PACKAGES: Record<string, string> = {
  '7zz': '7zip',
  blender: 'blender python3-numpy',
  bsdtar: 'libarchive-tools',
  bwrap: 'bubblewrap',
  dockerd: 'docker.io',
  docker: 'docker.io',
  ip: 'iproute2',
  emcc: 'emscripten',
  mcs: 'mono-mcs',
  WebKitWebDriver: 'webkit2gtk-driver',
  Xvfb: 'xvfb',
  'swift-proxy-server': 'swift-proxy swift-account swift-container swift-object python3-swift memcached',
  'systemd-analyze': 'systemd',
}

/** Builds the skip message. All callers share its wording, because `npm test` counts skipped tests per message. */
export const absent = (program: string): string =>
  `${program} is not installed (Debian: apt install ${PACKAGES[program] ?? program})`

/** Returns whether a program can be started by its name. */
export const isPresent = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' }).status === 0

/**
 * Returns whether the programs that a test needs are installed. If not, marks the test as skipped; under CI=true it
 * fails.
 */
export function hasPrograms(t: Test, ...programs: string[]): boolean {
  const missing = programs.find((program) => !isPresent(program))
  if (missing === undefined) return true
  skipWithout(t, missing)
  return false
}

/** Marks a test as skipped because a program is missing. Under CI=true, where all are installed, that is a failure. */
export function skipWithout(t: Test, program: string): void {
  if (process.env.CI === 'true') t.fail(absent(program))
  else t.pass(absent(program), { skip: absent(program) })
}

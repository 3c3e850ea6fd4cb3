import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'
import { BROWSER } from './browser.ts'
import { absent, isPresent } from './components.ts'
import { endWithParent } from './watchdog.ts'

/** A machine of a simulated network: a network namespace with one address and no external route. */
export interface Machine {
  name: string
  address: string
  spawn(command: string, args: readonly string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }): ChildProcess
  /** Runs a program to its end. @returns its standard output */
  run(command: string, args: readonly string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }): Promise<string>
  openBrowser(t: Test): Promise<Browser>
  /** Returns the number of packets to unroutable addresses since the machine's creation. */
  strays(): number
}

const ip = (...words: string[]) => execFileSync('ip', words, { stdio: ['ignore', 'pipe', 'pipe'] }).toString()

/**
 * Simulates machines in one network: network namespaces on a bridge, without other networks or a name server. They are
 * removed with the test. Returns null, after marking the test as skipped, where that is not permitted; under CI=true
 * that is a failure.
 */
export function openNetwork(t: Test, names: readonly string[]): Machine[] | null {
  const mark = `gy${process.pid}`
  const hub = `${mark}-hub`
  try {
    ip('netns', 'add', hub)
  } catch (error) {
    if (process.env.CI === 'true') throw error
    const reason = isPresent('ip') ? 'network namespaces take root, which we are not' : absent('ip')
    t.pass(reason, { skip: reason })
    return null
  }
  t.teardown(() => ip('netns', 'del', hub))
  ip('-n', hub, 'link', 'add', 'cable', 'type', 'bridge')
  ip('-n', hub, 'link', 'set', 'cable', 'up')
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-network-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return names.map((name, index) => {
    const space = `${mark}-${name}`
    const address = `192.168.77.${index + 10}`
    ip('netns', 'add', space)
    t.teardown(() => ip('netns', 'del', space))
    ip('-n', space, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', `plug${index}`, 'netns', hub)
    ip('-n', hub, 'link', 'set', `plug${index}`, 'master', 'cable', 'up')
    ip('-n', space, 'address', 'add', `${address}/24`, 'dev', 'eth0')
    for (const link of ['lo', 'eth0']) ip('-n', space, 'link', 'set', link, 'up')
    return machine({ name, space, address, folder })
  })
}

function machine({ name, space, address, folder }: Record<'name' | 'space' | 'address' | 'folder', string>): Machine {
  const start: Machine['spawn'] = (command, args, options = {}) =>
    endWithParent(
      spawn('ip', ['netns', 'exec', space, command, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...options }),
    )
  return {
    name,
    address,
    spawn: start,
    run(command, args, options) {
      const child = start(command, args, options)
      let [output, errors] = ['', '']
      child.stdout?.on('data', (chunk) => (output += chunk))
      child.stderr?.on('data', (chunk) => (errors += chunk))
      return new Promise((resolve, reject) => {
        child.on('error', reject)
        child.on('close', (code) =>
          code === 0
            ? resolve(output)
            : reject(new Error(`${command} on ${name} ended with ${code}:\n${output}${errors}`)),
        )
      })
    },
    async openBrowser(t) {
      const program = join(folder, `${name}-browser`)
      writeFileSync(program, `#!/bin/sh\nexec ip netns exec ${space} ${BROWSER.executablePath} "$@"\n`)
      chmodSync(program, 0o755)
      const browser = await chromium.launch({ ...BROWSER, executablePath: program })
      t.teardown(() => browser.close())
      return browser
    },
    strays() {
      const lines = ip('netns', 'exec', space, 'cat', '/proc/net/snmp').split('\n')
      const [names = '', values = ''] = lines.filter((line) => line.startsWith('Ip:'))
      return Number(values.split(' ')[names.split(' ').indexOf('OutNoRoutes')])
    },
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { loadConfig } from '../../config/load.ts'
import { families } from '../../drivers/index.ts'
import { plugins } from '../../plugins/index.ts'
import { temporaryFolder } from '../bin/program.ts'
import { GAMEYARD } from '../kit/gameyard.ts'
import { plainEnvironment } from '../kit/packages.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { endWithParent } from '../kit/watchdog.ts'
import type { Block } from './blocks.ts'

const PATIENCE_MS = timeLimit(240)

/** The environment for a guide: the values of its placeholders, and the machine. */
export interface Place {
  /** The port of the platform. */
  port: number
  clientId: string
  /** A folder with `node_modules` of packed clients, for imports. */
  packages: string
  env: Record<string, string>
  /** Opens a page of the game, signed in; resolves with null where there is no browser. */
  openPage(): Promise<Page | null>
}

/** Follows all instructions of a guide in a separate folder. */
export class Reader {
  readonly folder: string
  readonly #t: Test
  readonly #place: Place
  readonly #environment: string
  readonly #running: ChildProcess[] = []
  /** The output of the last command. */
  #printed = ''

  constructor(t: Test, place: Place) {
    this.#t = t
    this.#place = place
    this.folder = temporaryFolder(t)
    const bin = temporaryFolder(t)
    writeFileSync(join(bin, 'gameyard'), `#!/bin/sh\nexec ${GAMEYARD.map((word) => `'${word}'`).join(' ')} "$@"\n`, {
      mode: 0o755,
    })
    writeFileSync(join(bin, 'node'), `#!/bin/sh\nexec '${process.execPath}' "$@"\n`, { mode: 0o755 })
    this.#environment = join(bin, 'environment')
    const env = {
      ...place.env,
      HOME: bin,
      XDG_CONFIG_HOME: join(bin, 'config'),
      BROWSER: 'none',
      PATH: `${bin}:${process.env.PATH}`,
    }
    const quoted = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`)
    writeFileSync(this.#environment, quoted.join(''))
    t.teardown(() => {
      for (const { pid } of this.#running) if (pid) process.kill(-pid, 'SIGKILL')
    })
  }

  /** Replaces placeholders with this machine's values. */
  fill(code: string): string {
    return code
      .replaceAll('localhost:8080', `localhost:${this.#place.port}`)
      .replaceAll('YOUR_CLIENT_ID', this.#place.clientId)
  }

  /** Executes a block. @throws when it fails */
  async follow(block: Block): Promise<void> {
    const code = this.fill(block.code)
    const { language, file } = block
    if (file) this.#write(file, code)
    if (language === 'bash') return this.#shell(code)
    if (block.answer) return this.#compare(JSON.parse(code))
    if (block.page) return this.#inPage(code)
    if (language === 'yaml') return this.#configure(block, code)
    if (block.background && file) return this.#start(file, block.background)
    if (language === 'js' && (block.node || !file)) {
      const name = file ?? 'snippet.mjs'
      if (!file) this.#write(name, code)
      return this.#shell(`node ${name}`)
    }
    if (!file) throw new Error(`nothing is known to do with a block of ${language || 'no language'}`)
  }

  #write(file: string, text: string): void {
    const path = join(this.folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    const modules = join(this.folder, 'node_modules')
    if (/\.m?js$/.test(file) && !existsSync(modules)) {
      mkdirSync(modules)
      this.#link(modules)
    }
  }

  /** Links the packages, which are installed once, into the folder. */
  #link(modules: string): void {
    writeFileSync(join(this.folder, 'package.json'), '{ "type": "module", "private": true }')
    const installed = join(this.#place.packages, 'node_modules')
    for (const name of readdirSync(installed)) symlinkSync(join(installed, name), join(modules, name))
  }

  /** Runs a shell block. Variables that one block exports exist in the next, as in a terminal. */
  async #shell(code: string): Promise<void> {
    const script = `set -eo pipefail\n. '${this.#environment}'\n${code}\nexport -p > '${this.#environment}'\n`
    const child = spawn('bash', ['-c', script], {
      cwd: this.folder,
      env: plainEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    endWithParent(child, { group: true })
    this.#printed = await ended(child)
  }

  async #start(file: string, url: string): Promise<void> {
    const script = `. '${this.#environment}'\nexec node ${file}`
    const child = spawn('bash', ['-c', script], {
      cwd: this.folder,
      env: plainEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#running.push(endWithParent(child, { group: true }))
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
    await until(() => {
      if (child.exitCode !== null) throw new Error(`${file} does not answer at ${url}: ${said}`)
      return fetch(url).catch(() => null)
    })
  }

  #compare(expected: unknown): void {
    const actual: unknown = JSON.parse(this.#printed)
    this.#t.same(shapeOf(actual), shapeOf(expected), 'the answer has the shape that the guide shows')
    const text = (value: unknown) => (value as { error?: unknown })?.error
    if (text(expected)) this.#t.same(text(actual), text(expected), 'and the error is the one that it shows')
  }

  async #configure(block: Block, code: string): Promise<void> {
    this.#write('gameyard.yaml', code)
    if (block.with && !existsSync(join(this.folder, block.with))) throw new Error(`${block.with} is not written yet`)
    // In this process, because a command takes half a second; test/bin/commands.test.ts runs `gameyard config check`.
    const cwd = this.folder
    await loadConfig({ file: 'gameyard.yaml', cwd, env: this.#place.env, families, plugins })
  }

  async #inPage(code: string): Promise<void> {
    const page = await this.#place.openPage()
    if (!page) return
    const trouble: string[] = []
    page.on('pageerror', (error) => trouble.push(String(error)))
    const done = page.waitForFunction('window.guideDone === true', undefined, { timeout: PATIENCE_MS })
    const failed = page
      .waitForEvent('pageerror', { timeout: PATIENCE_MS + 10_000 })
      .then((error) => Promise.reject(error))
    await page.evaluate((text) => {
      const script = document.createElement('script')
      script.type = 'module'
      script.textContent = `${text}\nwindow.guideDone = true`
      document.head.append(script)
    }, code)
    await Promise.race([done, failed])
    failed.catch(() => {})
    this.#t.same(trouble, [], 'the page has no complaint')
    await page.close()
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8')
  }
}

/** Returns names and types without values, because an example's values differ from those of a run. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, shapeOf(part)]),
  )
}

/** Resolves with a program's output after it has succeeded. */
function ended(child: ChildProcess): Promise<string> {
  let out = ''
  let err = ''
  child.stdout?.on('data', (chunk) => (out += chunk))
  child.stderr?.on('data', (chunk) => (err += chunk))
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => child.pid && process.kill(-child.pid, 'SIGKILL'), PATIENCE_MS)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(late)
      if (code === 0) resolve(out)
      else reject(new Error(`ended with ${code}\n${out}\n${err}`))
    })
  })
}

/**
 * Generates TypeScript types for the SDK from the platform's OpenAPI document: clients/sdk/openapi.ts, which is not in
 * the repository.
 *
 *   npx node build/openapi-types.ts              writes
 *   npx node build/openapi-types.ts --if-stale   writes only when a source is newer
 */
import { globSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenAPI3 } from 'openapi-typescript'
import { loadConfig } from '../config/load.ts'
import { createKernel } from '../core/kernel.ts'
import { createLog } from '../core/observe/log.ts'
import { families } from '../drivers/index.ts'
import { plugins as builtins } from '../plugins/index.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, 'clients/sdk/openapi.ts')

if (!process.argv.includes('--if-stale') || isStale()) writeFileSync(output, await typesOf(await document()))

function isStale(): boolean {
  const builtAt = statSync(output, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const watched = globSync(['{core,config,plugins}/**/*.ts', 'package.json', 'build/openapi-types.ts'], { cwd: root })
  return watched.some((path) => statSync(join(root, path)).mtimeMs > builtAt)
}

/** Returns the document of a platform with every built-in plugin. The platform starts but never listens. */
async function document(): Promise<OpenAPI3> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-openapi-'))
  try {
    const env = { SERVICE_DATABASE__FILE: ':memory:' }
    const { config, plugins, drivers } = await loadConfig({ cwd: folder, env, families, plugins: builtins })
    // The document requires no pages, so their files may be missing.
    const browserFiles = async (name: string) => (name === 'manifest.json' ? Buffer.from('{"files":{}}') : null)
    const log = createLog('silent')
    const app = await createKernel(config, { plugins, drivers, browserFiles, version: '0', log })
    await app.ready()
    const description = app.swagger() as unknown as OpenAPI3
    await app.close()
    return description
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function typesOf(description: OpenAPI3): Promise<string> {
  // The package uses the JavaScript API of TypeScript 5, which TypeScript 7 does not have.
  registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript5' : name, context) })
  const { default: openapiTypes, astToString } = await import('openapi-typescript')
  const types = astToString(await openapiTypes(description, { alphabetize: true, defaultNonNullable: false }))
  return `// Made by build/openapi-types.ts from the platform's own routes.\n${types}`
}

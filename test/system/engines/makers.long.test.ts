// The tasks of makers in the portal, in the engines of Firefox and Safari: sign up, publish a zip, upload a model and
// view it, write a script for Blender. The tests of the plugins do the same in Chromium.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hasPrograms } from '../../kit/components.ts'
import { openEngine } from '../../kit/engines/engine.ts'
import type { EnginePage } from '../../kit/engines/page.ts'
import { PASSWORD, type Platform, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { sheet } from '../../plugins/assets/models.ts'
import { zipOf } from '../../plugins/deploy/zip-writer.ts'

/** What a viewer says on a busy machine. */
const EXPECTED = /rAF timed out/

async function signUp(page: EnginePage, platform: Platform): Promise<void> {
  await page.goto('/sign-up')
  await page.fill({ label: 'Name' }, 'Mo')
  await page.fill({ label: 'Email' }, 'mo@example.org')
  await page.fill({ label: 'Password' }, PASSWORD)
  await page.click({ button: 'Create account' })
  await page.waitForUrl(`${platform.portal}/`)
}

async function publishZip(t: Test, page: EnginePage, folder: string): Promise<void> {
  const archive = join(folder, 'build.zip')
  writeFileSync(archive, zipOf({ 'index.html': '<!doctype html><title>Sonar</title><h1>ping</h1>' }))
  await page.goto('/')
  await page.click({ link: 'Publish a game' })
  await page.fill({ label: 'Title' }, 'Sonar')
  await page.click({ button: 'Create the game' })
  await page.upload({ label: 'Zip archive' }, archive)
  await page.click({ button: 'Publish' })
  await page.see({ text: 'Your build is live' })
  await page.click('a.address')
  await page.see({ text: 'ping', within: 'h1' })
  t.pass('a game from a zip, published and opened')
}

async function uploadModel(t: Test, page: EnginePage, folder: string, platform: Platform): Promise<void> {
  writeFileSync(join(folder, 'trap.glb'), '<svg onload="alert(1)">')
  writeFileSync(join(folder, 'wavy-sea.glb'), await sheet(20))
  await page.goto(`${platform.portal}/assets/new`)
  await page.upload({ label: 'File' }, join(folder, 'trap.glb'))
  await page.click({ button: 'Upload' })
  await page.see({ text: 'not a model' })
  await page.upload({ label: 'File' }, join(folder, 'wavy-sea.glb'))
  await page.click({ button: 'Upload' })
  await page.waitForUrl(({ pathname }) => pathname.startsWith('/assets/wavy-sea'))
  await page.see('.stage[data-shown]')
  await page.waitFor(async () => {
    const picture = new Image()
    picture.src = (document.querySelector('model-viewer') as unknown as HTMLCanvasElement).toDataURL()
    await picture.decode()
    const canvas = document.createElement('canvas')
    canvas.width = canvas.height = 64
    const context = canvas.getContext('2d')
    context?.drawImage(picture, 0, 0, 64, 64)
    return new Set(new Uint32Array(context?.getImageData(0, 0, 64, 64).data.buffer ?? new ArrayBuffer(0))).size > 20
  })
  t.pass('the model is drawn, in many colours')
}

async function writeScript(t: Test, page: EnginePage): Promise<void> {
  await page.goto('/blender/new')
  await page.fill({ label: 'Name' }, 'By hand')
  await page.evaluate(`document.querySelector('textarea[name=script]').scrollIntoView()`)
  await page.click('.cm-content')
  for (const key of [...'def a():', 'Enter', ...'pass']) await page.press(key)
  await page.waitFor(`document.querySelector('textarea[name=script]').value === 'def a():\\n    pass'`)
  await page.see('.cm-line span[class]')
  t.pass('Python is indented and in colours')
}

for (const name of ['firefox', 'webkit'] as const) {
  t.test(`makers work in ${name}`, { timeout: timeLimit(300) }, async (t) => {
    const engine = await openEngine(t, name, { graphics: true })
    if (!engine || !hasPrograms(t, 'blender', 'bwrap')) return
    const folder = mkdtempSync(join(tmpdir(), 'gameyard-makers-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const platform = await startPlatform(t, { listen: true, config: { blender: { driver: 'subprocess' } } })
    const page = await (await engine.newContext({ base: platform.portal })).newPage()
    await signUp(page, platform)
    await publishZip(t, page, folder)
    await writeScript(t, page)
    t.same(page.complaints, [], 'nothing is wrong')
    await uploadModel(t, page, folder, platform)
    const complaints = page.complaints.filter((text) => !/status of 415/.test(text) && !EXPECTED.test(text))
    t.same(complaints, [], 'nor with the model')
  })
}

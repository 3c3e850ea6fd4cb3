// Tests the pages of assets in a real browser: the library, uploads, and an animated model.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeIO, type Transform } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { draco, meshopt } from '@gltf-transform/functions'
import draco3d from 'draco3dgltf'
import { MeshoptEncoder } from 'meshoptimizer'
import { PNG } from 'pngjs'
import t from 'tap'
import {
  expectNoAxeViolations,
  expectNoOverflow,
  openBrowser,
  openPage,
  SOFTWARE_GRAPHICS,
  screenshot,
} from '../../kit/browser.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { blenderModels } from './blender.ts'
import { startAssets, untilPrepared } from './kit.ts'
import { libraryOf, sheet, tiledSheet } from './models.ts'

const SIZES = [
  { name: '1280-light', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: '390-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const

/** Returns the viewer's rendering as a data URL. */
const DRAWN = "document.querySelector('model-viewer').toDataURL()"

t.test('assets are browsed, uploaded with progress, and move in the page', async (t) => {
  const browser = await openBrowser(t, [SOFTWARE_GRAPHICS])
  const models = browser && blenderModels(t, ['mixamo'])
  if (!browser || !models) return
  const { platform, owner, upload, ask } = await startAssets(t)
  await upload(await sheet(20), { title: 'Wavy sea', tags: 'water', visibility: 'public', license: 'CC0-1.0' })
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'Stick_man.glb'), models.get('mixamo') as Buffer)
  writeFileSync(join(folder, 'trap.glb'), '<svg onload="alert(1)">')
  for (const { name, ...options } of SIZES) {
    const { page, context, complaints } = await openPage(browser, options)
    const cookies = [...owner.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal }))
    await context.addCookies(cookies)
    const look = async (what: string) => {
      await screenshot(page, `assets-${what}-${name}`)
      await expectNoAxeViolations(t, page, `${what} ${name}: axe-core finds nothing`)
      await expectNoOverflow(t, page, `${what} ${name}: nothing sticks out`)
    }
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    await page.goto(`${platform.portal}/assets`)
    t.ok(await page.getByRole('link', { name: /Wavy sea/ }).isVisible())
    await look('library')
    await page.goto(`${platform.portal}/assets/new`)
    await look('upload')
    await page.getByLabel('File').setInputFiles(join(folder, 'trap.glb'))
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByText(/not a model/).waitFor()
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 415/.test(text)))
    await page.getByLabel('File').setInputFiles(join(folder, 'Stick_man.glb'))
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.waitForURL(/\/assets\/stick-man/)
    await page.locator('.stage[data-shown]').waitFor({ timeout: timeLimit(120) })
    await page.getByRole('button', { name: 'walk' }).click()
    await page.locator('.stage[data-shown$="/animation/walk"]').waitFor({ timeout: timeLimit(120) })
    const pictures = new Set<string>()
    for (let tries = 0; tries < 100 && pictures.size < 3; tries++) {
      pictures.add(await page.evaluate<string>(DRAWN))
      await page.waitForTimeout(100)
    }
    t.ok(pictures.size >= 3, 'the model moves')
    const isPaused = () => page.evaluate("document.querySelector('model-viewer').paused")
    await page.getByRole('button', { name: 'Pause the animation' }).press('Enter')
    t.equal(await isPaused(), true, 'a button stops it')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    const slug = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    const walk = (await ask(`/api/assets/${slug}/animation/walk`, { as: 'owner' })).body
    const { body: library } = await upload(await libraryOf(walk, { walk: 'Walking_A' }), { title: 'Moves' })
    await platform.app.assets.clips.apply(
      await platform.app.assets.get(slug),
      await platform.app.assets.get(library.id),
      'Walking_A',
    )
    await page.reload()
    await page.locator('.stage[data-shown]').waitFor({ timeout: timeLimit(120) })
    await page.getByRole('button', { name: 'Walking_A' }).click()
    await page.locator('.stage[data-shown*="/animation/Walking_A?from="]').waitFor({ timeout: timeLimit(120) })
    t.equal(await isPaused(), false, 'a clip that the player chooses plays')
    await look('asset')
    const model = page.url()
    await page.goto(`${platform.portal}/assets/${library.slug}`)
    await page.locator('.stage[data-shown]').waitFor({ timeout: timeLimit(120) })
    t.equal(await isPaused(), true, 'nothing moves by itself where the player prefers reduced motion')
    await page.getByRole('button', { name: 'Play the animation' }).press('Enter')
    t.equal(await isPaused(), false)
    await look('library with clips')
    await page.goto(model)
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Title').waitFor()
    await look('edit')
    // The software renderer logs the first message when its pictures are read; a busy machine causes the second.
    const real = complaints.filter((text) => !/GPU stall due to ReadPixels|rAF timed out/.test(text))
    t.same(real, [], `${name}: the browser complains of nothing`)
    await context.close()
  }
  t.match(await owner.get('/assets/mine'), { status: 200, text: /Stick man/ })
  const other = await platform.signUp()
  t.equal((await other.get('/assets/stick-man')).status, 404)
  t.notMatch((await other.get('/assets')).text, /Stick man/)
  t.equal((await owner.submit('/assets/stick-man/publish', {})).status, 303)
  const said = {
    title: 'Stick man',
    slug: 'stick-man',
    description: '<b>Thin</b>',
    tags: 'Rig, thin',
    license: 'CC0-1.0',
  }
  t.equal((await other.submit('/assets/stick-man/edit', said)).status, 404)
  const wrong = await owner.submit('/assets/stick-man/edit', { ...said, tags: 'Größe!', license: '<x>' })
  t.match(wrong, { status: 400, text: /at most 10 tags/ })
  t.match(wrong.text, /SPDX identifier or expression/)
  t.equal((await owner.submit('/assets/stick-man/edit', said)).status, 303)
  t.match(await owner.get('/assets/stick-man'), { status: 200, text: /&lt;b>Thin/ })
  t.match(await owner.get('/assets/stick-man'), { text: /href="\/assets\?tag=thin"/ })
  t.equal((await other.get('/assets/stick-man')).status, 200)
  t.equal((await other.submit('/admin/assets/stick-man/curate', {})).status, 403)
  const admin = await platform.admin()
  t.equal((await admin.submit('/admin/assets/stick-man/curate', {})).status, 303)
  t.match(await owner.submit('/assets/stick-man/delete', {}), { status: 409 }, 'a curated one stays')
  await admin.submit('/admin/assets/stick-man/release', {})
  t.equal((await owner.submit('/assets/stick-man/delete', {})).status, 303)
  t.equal((await other.get('/assets/stick-man')).status, 404)
})

t.test('compressed models are unpacked in the page, by nothing from elsewhere', async (t) => {
  const browser = await openBrowser(t, [SOFTWARE_GRAPHICS])
  if (!browser) return
  const { platform, upload } = await startAssets(t)
  await MeshoptEncoder.ready
  const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({
    'draco3d.encoder': await draco3d.createEncoderModule(),
    'meshopt.encoder': MeshoptEncoder,
  })
  const packed = async (transform: Transform) => {
    const document = await io.readBinary(await sheet(20))
    await document.transform(transform)
    return io.writeBinary(document)
  }
  for (const [title, model, decoder] of [
    ['draco', await packed(draco()), 'draco_decoder'],
    ['meshopt', await packed(meshopt({ encoder: MeshoptEncoder })), 'meshopt-decoder'],
    ['uastc', await tiledSheet(20, 'uastc'), 'basis_transcoder'],
    ['etc1s', await tiledSheet(20, 'etc1s'), 'basis_transcoder'],
  ] as const) {
    const { status, body } = await upload(model, { title, visibility: 'public' })
    t.match({ status, body }, { status: 201, body: { variants: { source: { triangles: 800 } } } })
    const { page, context, complaints } = await openPage(browser, { viewport: { width: 900, height: 700 } })
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${platform.portal}/assets/${title}`)
    await page.locator('.stage[data-shown]').waitFor({ timeout: timeLimit(120) })
    // After half a second the viewer says that the model is loaded, also where its first frame takes longer.
    let orange = 0
    for (let tries = 0; tries < 200 && orange <= 1000; tries++) {
      if (tries > 0) await page.waitForTimeout(100)
      orange = orangeIn(await page.evaluate<string>(DRAWN))
    }
    t.ok(orange > 1000, `${title}: it is to be seen, in its colour: ${orange} pixels`)
    const elsewhere = asked.filter((url) => !url.startsWith(`${platform.portal}/`) && !/^(?:blob|data):/.test(url))
    t.same(elsewhere, [], `${title}: nothing was asked for elsewhere`)
    t.ok(
      asked.some((url) => url.includes(decoder)),
      `${title}: its decoder`,
    )
    t.same(
      complaints.filter((text) => !/GPU stall due to ReadPixels|rAF timed out/.test(text)),
      [],
    )
    await screenshot(page, `assets-${title}`)
    await context.close()
  }
})

t.test('both versions of a model are in the viewer, with a slider between them', async (t) => {
  const browser = await openBrowser(t, [SOFTWARE_GRAPHICS])
  if (!browser) return
  const { platform, upload } = await startAssets(t)
  const { body } = await upload(await sheet(20), { title: 'Sea', visibility: 'public' })
  await untilPrepared(platform, body.id)
  for (const { name, ...options } of SIZES) {
    const { page, context, complaints } = await openPage(browser, options)
    await page.goto(`${platform.portal}/assets/sea`)
    await page.locator('.stage[data-shown]').waitFor({ timeout: timeLimit(120) })
    await page.getByRole('button', { name: 'Compare both with a slider' }).press('Enter')
    const slider = page.getByRole('slider', { name: /^Border between As uploaded \(20\.6 KiB\) and Lighter \(/ })
    t.ok(await slider.evaluate((input) => input === document.activeElement), 'the slider has the focus')
    await page.locator('.stage[data-compared]').waitFor({ timeout: timeLimit(120) })
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('ArrowLeft')
    t.equal(await slider.getAttribute('aria-valuetext'), '47 % as uploaded')
    const border = () => page.locator('.stage-second').evaluate((second) => getComputedStyle(second).clipPath)
    t.equal(await border(), 'inset(0px 0px 0px 47%)')
    const orbits = `[...document.querySelectorAll('model-viewer')].map((one) => one.getCameraOrbit().theta.toFixed(2))`
    await page.evaluate("document.querySelector('model-viewer').setAttribute('camera-orbit', '1.2rad 1rad 4m')")
    await page.evaluate("document.querySelector('model-viewer').jumpCameraToGoal()")
    await until(async () => String(await page.evaluate(orbits)) === '1.20,1.20')
    await page.waitForTimeout(500)
    await screenshot(page, `assets-compared-${name}`)
    await expectNoAxeViolations(t, page, `${name}: axe-core finds nothing`)
    await expectNoOverflow(t, page, `${name}: nothing sticks out`)
    await page.getByRole('button', { name: 'Show lighter' }).press('Enter')
    await page.locator('.stage[data-shown$="variant=lod"]').waitFor({ timeout: timeLimit(120) })
    t.equal(await page.locator('.stage-second, .stage-compare').count(), 0, 'another choice ends it')
    t.same(
      complaints.filter((text) => !/GPU stall due to ReadPixels|rAF timed out/.test(text)),
      [],
    )
    await context.close()
  }
})

/** Counts the orange pixels of a picture, which is a data URL. A canvas without a size has none. */
function orangeIn(picture: string): number {
  if (!picture.startsWith('data:image/png')) return 0
  const { data } = PNG.sync.read(Buffer.from(picture.split(',')[1] ?? '', 'base64'))
  let orange = 0
  for (let at = 0; at < data.length; at += 4) {
    const [red = 0, , blue = 0, alpha = 0] = data.subarray(at, at + 4)
    if (alpha > 200 && red > blue + 40) orange++
  }
  return orange
}

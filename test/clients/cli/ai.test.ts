import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, start } from '../../bin/program.ts'
import { aiConfig, json, openai, PNG, startAiServer } from '../../kit/ai-server.ts'
import { inFull } from '../../kit/extent.ts'
import { GAMEYARD } from '../../kit/gameyard.ts'
import { json as scripted, startScriptedServer } from '../../kit/scripted-server.ts'
import { machine, startTestServer } from './kit.ts'

t.test('texts, objects and pictures come where one wants them, with what they cost', async (t) => {
  const provider = await startAiServer(t)
  const platform = await startTestServer(t, { config: { ai: aiConfig(provider) } })
  const mine = machine(t, {
    SERVICE_API_TOKEN: await platform.token(['ai:generate']),
    SERVICE_BASE_URL: platform.server.portal,
  })
  provider.answer = openai('Five potions.', 1001)
  const text = await mine.gameyard('ai', 'generate', 'Name five potions')
  t.match(text, { code: 0, stdout: 'Five potions.\n', stderr: '2 credits, 98 left (small)\n' })
  const refused = await mine.gameyard('ai', 'generate', 'x', '--type', 'txt')
  t.match(refused, { code: 2, stderr: /text, object, image/ })
  await inFull(t)?.test('the question may come from a pipe', async (t) => {
    t.match(await mine.withInput('From a pipe', 'ai', 'generate', '-'), { code: 0, stdout: 'Five potions.\n' })
    t.match(provider.requests.at(-1)?.body.messages, [{ role: 'user', content: 'From a pipe' }])
  })

  provider.answer = openai('{"name":"Brew"}')
  writeFileSync(
    join(mine.cwd, 'potion.json'),
    JSON.stringify({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }),
  )
  const object = await mine.gameyard('ai', 'generate', 'A potion', '--schema', 'potion.json')
  t.equal(object.code, 0, object.stderr)
  t.same(JSON.parse(object.stdout), { name: 'Brew' }, 'an object is JSON and nothing else')
  t.match(await mine.json('ai', 'generate', 'A potion', '--schema', 'potion.json'), {
    type: 'object',
    result: { name: 'Brew' },
    creditsUsed: 1,
  })

  const picture = await mine.gameyard('ai', 'generate', 'A potion', '--type', 'image', '--output', 'potion.png')
  t.match(picture, { code: 0, stdout: 'Saved potion.png\n' })
  t.same(readFileSync(join(mine.cwd, 'potion.png')), PNG)
  t.match(await mine.gameyard('ai', 'credits'), { code: 0, stdout: /^\d+ credits\nAMOUNT[\s\S]*-10 +generation/ })
})

// In the short form test/plugins/ai proves the same of the routes.
inFull(t)?.test('what cannot be generated is said, and costs nothing', async (t) => {
  const provider = await startAiServer(t)
  const platform = await startTestServer(t, { config: { ai: aiConfig(provider) } })
  const token = await platform.token(['ai:generate'])
  const { gameyard, json: asJson } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: platform.server.portal })
  provider.answer = json({ error: { message: 'no' } }, 400)
  t.match(await asJson('ai', 'generate', 'x'), { error: { code: 'upstream_error' } })
  t.match(await asJson('ai', 'credits'), { balance: 100 })
  for (let paid = 0; paid < 5; paid++) {
    provider.answer = openai('')
    t.equal((await gameyard('ai', 'generate', 'x', '--type', 'image', '--image-size', '2K')).code, 0)
  }
  t.match(await gameyard('ai', 'generate', 'x', '--type', 'image'), {
    code: 1,
    stderr: /credits[\s\S]*\n {2}Buy credits/,
  })
  t.match(await gameyard('ai', 'generate', 'x', '--schema', 'nothing.json'), { code: 2, stderr: /does not exist/ })
  t.match(await gameyard('ai', 'generate', 'x', '--type', 'txt'), { code: 2, stderr: /text, object, image/ })
})

t.test('a debt is shown beside the credits', async (t) => {
  const platform = await startScriptedServer(t)
  platform.answer(scripted({ balance: 0, debt: 450, ledger: [] }))
  const mine = machine(t, { SERVICE_API_TOKEN: `svc_api_${'a'.repeat(38)}`, SERVICE_BASE_URL: platform.baseUrl })
  t.match(await mine.gameyard('ai', 'credits'), { code: 0, stdout: '0 credits\nYou owe 450. The next' })
})

t.test('a paid answer is never lost', async (t) => {
  const provider = await startAiServer(t)
  const platform = await startTestServer(t, { config: { ai: aiConfig(provider) } })
  const mine = machine(t, {
    SERVICE_API_TOKEN: await platform.token(['ai:generate']),
    SERVICE_BASE_URL: platform.server.portal,
  })
  const TMPDIR = join(mine.cwd, 'tmp')
  mkdirSync(TMPDIR)
  const shell = (line: string, ...arguments_: string[]) =>
    run(t, arguments_, { command: ['sh', '-c', line, 'sh', ...GAMEYARD], cwd: mine.cwd, env: { ...mine.env, TMPDIR } })
  const kept = (stderr: string) => readFileSync(/The answer is in (\S+)/.exec(stderr)?.[1] ?? '')
  const asked = () => provider.requests.length
  provider.answer = openai('Five potions.')
  writeFileSync(join(mine.cwd, 'mine.txt'), 'dear')

  await t.test('the place is looked at before anything is asked', async (t) => {
    for (const [place, message] of [
      ['mine.txt', /mine\.txt exists already[\s\S]*--overwrite/],
      ['nowhere/x.txt', /can't be written: it does not exist/],
      ['tmp', /tmp is a folder/],
    ] as const)
      t.match(await mine.gameyard('ai', 'generate', 'x', '--output', place), { code: 2, stderr: message })
    t.equal(asked(), 0)
    t.equal(readFileSync(join(mine.cwd, 'mine.txt'), 'utf8'), 'dear')
  })

  await t.test('a text has a place too, and replaces a file only on demand', async (t) => {
    const saved = await mine.gameyard('ai', 'generate', 'x', '--output', 'mine.txt', '--overwrite')
    t.match(saved, { code: 0, stdout: 'Saved mine.txt\n' })
    t.equal(readFileSync(join(mine.cwd, 'mine.txt'), 'utf8'), 'Five potions.\n')
    for (const file of ['image.png', 'image-2.png'])
      t.match(await mine.gameyard('ai', 'generate', 'x', '--type', 'image'), { code: 0, stdout: `Saved ${file}\n` })
    t.match(readdirSync(mine.cwd).toSorted(), ['image-2.png', 'image.png', 'mine.txt', 'tmp'])
  })

  await t.test('what cannot be written in the end is in a file that is named', async (t) => {
    const full = await shell('exec "$@"', 'ai', 'generate', 'x', '--output', '/dev/full', '--json')
    t.match(JSON.parse(full.stdout), {
      error: { code: 'not_saved', message: /the disk is full/, hint: /The answer is in/ },
    })
    t.equal(kept(full.stderr).toString(), 'Five potions.\n')
    const asJson = await shell('exec "$@" > /dev/full', 'ai', 'generate', 'x', '--json')
    t.match(asJson, { code: 1, stderr: /Standard output can't be written/ })
    t.match(JSON.parse(kept(asJson.stderr).toString()), { result: 'Five potions.', creditsUsed: 1 })
    const text = await shell('exec "$@" > /dev/full', 'ai', 'generate', 'x')
    t.equal(text.code, 1)
    t.match(kept(text.stderr).toString(), /^Five/)
  })

  await t.test('a text is written as it arrives', async (t) => {
    let finish = () => {}
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    provider.answer = async (_request, response) => {
      const piece = (content: string) =>
        `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }] })}\n\n`
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(piece('Five '))
      await held
      const last = {
        id: 'c',
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 9 },
      }
      response.end(`${piece('potions.')}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`)
    }
    const running = start(t, ['ai', 'generate', 'x'], { cwd: mine.cwd, env: mine.env })
    await running.says('Five ')
    finish()
    t.match(await running.ended, { code: 0, stdout: 'Five potions.\n', stderr: /^1 credit, \d+ left/ })
  })
})

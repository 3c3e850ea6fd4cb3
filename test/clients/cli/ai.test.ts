import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { aiConfig, json, openai, PNG, startAiServer } from '../../kit/ai-server.ts'
import { inFull } from '../../kit/extent.ts'
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
  t.match(await gameyard('ai', 'generate', 'x', '--output', 'x.txt'), { code: 2, stderr: /standard output: … > file/ })
  t.match(await gameyard('ai', 'generate', 'x', '--type', 'txt'), { code: 2, stderr: /text, object, image/ })
})

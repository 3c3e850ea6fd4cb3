import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { inFull } from '../kit/extent.ts'
import { run, systemNode, temporaryFolder } from './program.ts'

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))

t.test('help lists the commands with examples', async (t) => {
  const { code, stdout } = await run(t, ['--help'])
  t.equal(code, 0)
  for (const command of ['serve', 'init', 'config', 'version']) t.match(stdout, new RegExp(`^  ${command}\\b`, 'm'))
  t.match(stdout, /Examples:\n {2}gameyard serve/)
})

t.test('wrong usage ends with 2 and says what was meant', async (t) => {
  const unknown = await run(t, ['serv'])
  t.equal(unknown.code, 2)
  t.match(unknown.stderr, /unknown command 'serv'\n\(Did you mean serve\?\)/)
})

inFull(t)?.test('each command has a help of its own', async (t) => {
  const serve = await run(t, ['serve', '--help'])
  t.equal(serve.code, 0)
  t.match(serve.stdout, /--port <number>[\s\S]*Examples:/)
})

inFull(t)?.test('a wrong option ends with 2 and says what was meant', async (t) => {
  const option = await run(t, ['serve', '--prot', '80'])
  t.equal(option.code, 2)
  t.match(option.stderr, /unknown option '--prot'\n\(Did you mean --port\?\)/)
  const port = await run(t, ['serve', '--port', '80000'])
  t.equal(port.code, 2)
  t.match(port.stderr, /expected 0 to 65535/)
  t.equal((await run(t, [])).code, 2)
})

const nodes = { "npm's Node": process.execPath, "the machine's own Node": systemNode }
for (const [name, node] of Object.entries(nodes)) {
  const skip = node ? false : 'there is no node in PATH'
  if (skip && process.env.CI) t.fail(skip)
  t.test(`it runs on ${name}`, { skip }, async (t) => {
    const options = { node: node as string }
    t.match(await run(t, ['version'], options), { code: 0, stdout: `gameyard ${version} (Node ` })
    const cwd = temporaryFolder(t)
    writeFileSync(join(cwd, 'gameyard.yaml'), 'databse: {}\n')
    t.strictSame(await run(t, ['config', 'check'], { ...options, cwd }), {
      code: 1,
      stdout: '',
      stderr: 'gameyard.yaml:1:1  unknown key `databse`, did you mean `database`?\n',
    })
    await inFull(t)?.test('and answers the rest', async (t) => {
      const { stdout } = await run(t, ['version', '--json'], options)
      t.match(JSON.parse(stdout), { version, node: /^(24\.(1[2-9]|[2-9]\d)|2[5-9]|[3-9]\d)\b/ })
      t.equal((await run(t, ['nonsense'], options)).code, 2)
      writeFileSync(join(cwd, 'gameyard.yaml'), 'listen: { port: 9000 }\n')
      t.match(await run(t, ['config', 'check'], { ...options, cwd }), { code: 0, stdout: 'gameyard.yaml is valid.\n' })
    })
  })
}

t.test('config check tells machines too', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'x.yaml'), 'listen:\n  port: x\n')
  const { code, stdout } = await run(t, ['config', 'check', '--json', '--config', 'x.yaml'], { cwd })
  t.equal(code, 1)
  const problem = { severity: 'error', key: 'listen.port', source: 'x.yaml', line: 2, column: 9 }
  t.match(JSON.parse(stdout), { valid: false, problems: [problem] })
  await inFull(t)?.test('and that there is nothing to say', async (t) => {
    const fine = await run(t, ['config', 'check', '--json'], { cwd })
    t.equal(fine.code, 0)
    t.strictSame(JSON.parse(fine.stdout), { valid: true, problems: [], packs: [] })
  })
})

t.test('config check knows what only a start used to notice', async (t) => {
  const cwd = temporaryFolder(t)
  const checked = async (config: object) => {
    writeFileSync(join(cwd, 'gameyard.yaml'), JSON.stringify(config))
    const { code, stdout } = await run(t, ['config', 'check', '--json'], { cwd })
    t.equal(code, 1)
    return JSON.parse(stdout).problems.map(({ message }: { message: string }) => message)
  }
  const shared = { database: { driver: 'postgres', url: 'postgres://db.example/yard' } }
  t.match(await checked(shared), [/each needs the same `secret`.*openssl rand/])
  await inFull(t)?.test('the files of https too', async (t) => {
    const portal = { url: 'https://yard.example' }
    const encrypted = { listen: { tls: { cert: 'a', key: 'b' } }, portal, games: { domain: 'games.test' } }
    t.match(await checked(encrypted), [/listen\.tls\.cert: .* can't be read \(ENOENT\)/])
  })
})

t.test('config check shows the price of each pack as it is charged, and refuses one that can not be', async (t) => {
  const cwd = temporaryFolder(t)
  const sell = (...packs: object[]) => {
    const payments = { driver: 'stripe', secretKey: 'sk_test_1234', webhookSecret: 'whsec_1234', packs }
    writeFileSync(join(cwd, 'gameyard.yaml'), JSON.stringify({ payments }))
  }
  const forint = { id: 'small', credits: 500, price: 200_000, currency: 'huf' }
  sell(forint)
  const stdout = /^Pack small: 500 credits for HUF\s2,000\.00\ngameyard\.yaml is valid\.\n$/
  t.match(await run(t, ['config', 'check'], { cwd }), { code: 0, stdout })
  sell(forint, { id: 'large', credits: 5000, price: 99_950, currency: 'isk' })
  const refused = await run(t, ['config', 'check', '--json'], { cwd })
  t.match(refused, { code: 1, stdout: /"valid": false/ })
  t.match(refused.stdout, /Stripe charges ISK only in multiples of 100, and the price of large is 99950/)
})

t.test('config print shows what is in effect, secrets masked', async (t) => {
  const cwd = temporaryFolder(t)
  const env = { SERVICE_SECRET: 'a secret that is long enough for it', SERVICE_PORTAL__NAME: 'Yard' }
  const { code, stdout } = await run(t, ['config', 'print', '--port', '9001', '--data', 'elsewhere'], { cwd, env })
  t.equal(code, 0)
  t.match(parse(stdout), {
    listen: { port: 9001 },
    portal: { url: 'http://localhost:9001', name: 'Yard' },
    dataDir: join(cwd, 'elsewhere'),
    secret: '********',
  })
  t.notOk(stdout.includes(env.SERVICE_SECRET))
})

t.test('init writes a file that is valid, and overwrites none', async (t) => {
  const cwd = temporaryFolder(t)
  t.match(await run(t, ['init'], { cwd }), { code: 0, stdout: 'Wrote gameyard.yaml. Next: gameyard serve\n' })
  const written = readFileSync(join(cwd, 'gameyard.yaml'), 'utf8')
  t.match(await run(t, ['config', 'check'], { cwd }), { code: 0 })
  t.match(await run(t, ['init'], { cwd }), { code: 1, stderr: /^gameyard\.yaml is there already[^\n]*\n$/ })
  t.equal(readFileSync(join(cwd, 'gameyard.yaml'), 'utf8'), written)
})

inFull(t)?.test('init writes a preset', async (t) => {
  const cwd = temporaryFolder(t)
  t.match(await run(t, ['init', 'jam.yaml', '--preset', 'lan-jam'], { cwd }), { code: 0 })
  t.match(await run(t, ['config', 'check', '--config', 'jam.yaml'], { cwd }), { code: 0 })
  t.match(await run(t, ['init', 'x.yaml', '--preset', 'lan-party'], { cwd }), { code: 2 })
  t.match(await run(t, ['init', 'nowhere/x.yaml'], { cwd }), { code: 1, stderr: /can't be written \(ENOENT\)/ })
})

t.test('a worker that could run nothing says so', async (t) => {
  const none = await run(t, ['worker'], { env: { SERVICE_BLENDER__DRIVER: 'none' } })
  t.match(none, { code: 1, stdout: '', stderr: /blender\.driver is none/ })
})

inFull(t)?.test('a worker without a Blender or of no capacity says so', async (t) => {
  const missing = await run(t, ['worker', '--capacity', '2'], { env: { SERVICE_BLENDER__COMMAND: 'no-blender-here' } })
  t.match(missing, { code: 1, stderr: /No job can run here: There is no program no-blender-here/ })
  t.match(await run(t, ['worker', '--capacity', '0']), { code: 2, stderr: /expected a number from 1/ })
})

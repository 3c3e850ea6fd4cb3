import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import { GAMEYARD } from '../../kit/gameyard.ts'
import { startPlatform } from '../../kit/platform.ts'
import { ask } from '../../kit/upload.ts'
import { callTool } from './client.ts'

t.test('gameyard mcp serves an assistant on standard input and output', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const ada = await platform.signUp({ name: 'Ada' })
  const token = (await platform.program(ada)).token as string
  const folder = t.testdir({ dist: { 'index.html': '<!doctype html><title>Folder</title>', '.env': 'SECRET=1' } })
  const [command, ...args] = GAMEYARD
  const start = async (
    mode: 'auto' | 'legacy',
    { env = {}, ask }: { env?: Record<string, string>; ask?: (question: string) => boolean } = {},
  ) => {
    const capabilities = ask ? { elicitation: { form: {} } } : {}
    const client = new Client({ name: 'test-assistant', version: '1' }, { capabilities, versionNegotiation: { mode } })
    if (ask) {
      client.setRequestHandler('elicitation/create', async ({ params: { message } }) =>
        ask(message) ? { action: 'accept', content: { confirm: true } } : { action: 'decline' },
      )
    }
    const transport = new StdioClientTransport({
      command,
      args: [...args, 'mcp'],
      cwd: folder,
      stderr: 'pipe',
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        SERVICE_BASE_URL: platform.portal,
        SERVICE_API_TOKEN: token,
        ...env,
      },
    })
    const said: string[] = []
    transport.stderr?.on('data', (data) => said.push(String(data)))
    return { client, transport, said, connected: client.connect(transport) }
  }

  for (const mode of ['auto', 'legacy'] as const) {
    t.test(`publishes a folder, to a client in the mode ${mode}`, async (t) => {
      const { client, transport, said, connected } = await start(mode)
      await connected
      const names = (await client.listTools()).tools.map(({ name }) => name)
      t.ok(names.includes('deploy_folder'))
      t.ok(names.includes('games_list'))
      const { json: game } = await callTool(client, 'game_create', { title: `Folder ${mode}`, description: '' })
      const news: string[] = []
      const answer = await client.callTool(
        { name: 'deploy_folder', arguments: { folder: 'dist', game: game.slug, message: 'From a folder' } },
        { onprogress: ({ message }) => news.push(message ?? '') },
      )
      const [part] = answer.content
      t.match(JSON.parse(part?.type === 'text' ? part.text : ''), {
        deployId: /^dep_/,
        files: 1,
        uploaded: mode === 'auto' ? 1 : 0,
        leftOut: ['.env'],
      })
      t.match(news, ['reading 1 files'])
      const { json } = await callTool(client, 'game_files', { id: game.id })
      t.match(json.files, [{ path: 'index.html' }])
      mkdirSync(join(folder, 'empty'), { recursive: true })
      t.match(await callTool(client, 'deploy_folder', { folder: 'empty', game: game.slug }), { refused: true })
      t.match(await callTool(client, 'deploy_folder', { folder: '..', game: game.slug }), {
        refused: true,
        json: { error: { code: 'invalid_request', message: /outside of this project/ } },
      })
      t.match(await callTool(client, 'deploy_folder', { folder: 'dist', game: 'nowhere' }), {
        refused: true,
        json: { error: { code: 'not_found' } },
      })
      t.match(said.join(''), `Connected to ${platform.portal} as Ada.`)
      const ended = new Promise<void>((done) => {
        client.onclose = () => done()
      })
      await transport.close()
      await ended
    })
  }

  for (const mode of ['auto', 'legacy'] as const) {
    t.test(`asks the person before it replaces something, in the mode ${mode}`, async (t) => {
      const questions: string[] = []
      let decide = () => false
      const ask = (question: string) => {
        questions.push(question)
        return decide()
      }
      const { client, transport, connected } = await start(mode, { ask })
      await connected
      const { json: game } = await callTool(client, 'game_create', { title: `Asked ${mode}`, description: '' })
      const live = async () => (await callTool(client, 'game_get', { id: game.id })).json.liveDeployId
      const folder = { folder: 'dist', game: game.slug }
      t.match(await callTool(client, 'deploy_folder', folder), { refused: true, json: /said no/ })
      t.notOk(await live())
      decide = () => true
      const { json: first } = await callTool(client, 'deploy_folder', folder)
      t.equal(await live(), first.deployId)
      const changed = { gameId: game.id, files: { 'a.txt': 'a' } }
      const { json: second } = await callTool(client, 'deploy_files', changed)
      t.equal(questions.length, 2, 'a change of some files needs no question')

      const rollback = { deployId: first.deployId }
      decide = () => false
      t.match(await callTool(client, 'deploy_rollback', rollback), { refused: true, json: /said no/ })
      const stop = new AbortController()
      decide = () => {
        stop.abort()
        return true
      }
      await t.rejects(client.callTool({ name: 'deploy_rollback', arguments: rollback }, { signal: stop.signal }))
      t.equal(await live(), second.deployId, 'a call that was cancelled during the question changes nothing')
      decide = () => true
      t.notOk((await callTool(client, 'deploy_rollback', rollback)).refused)
      t.equal(await live(), first.deployId)
      t.match(questions, [/^Replace the live version of Asked/, /^Replace/, /^Put the/, /^Put the/, /^Put the/])
      await transport.close()
    })
  }

  t.test('publishes a folder as its gameyard.json says, and refuses arguments that it does not know', async (t) => {
    const { client, transport, connected } = await start('auto')
    await connected
    const { json: game } = await callTool(client, 'game_create', { title: 'Referee', description: '' })
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const project = { gameId: game.id, folder: 'dist', room: 'room.js', features: { languages: ['en'] } }
    const boards = [{ id: 'fastest', title: 'Fastest', writers: 'room' }]
    write('referee/gameyard.json', JSON.stringify({ ...project, boards }))
    write('referee/dist/index.html', '<!doctype html><title>Referee</title>')
    write('referee/dist/room.js', 'export const open = (room) => room.log(1)')
    const build = { folder: 'referee/dist', game: game.slug }
    const { json, refused } = await callTool(client, 'deploy_folder', build)
    t.match(
      { refused, json },
      { refused: false, json: { notes: ['Rooms: room.js', 'Features: languages', 'Boards: fastest'] } },
    )
    const { deploys } = (await callTool(client, 'deploys_list', { id: game.id })).json
    t.match(deploys[0], { state: 'live', room: 'room.js' })
    t.match((await callTool(client, 'boards_list', { id: game.id })).json.boards, [{ id: 'fastest' }])
    t.same((await callTool(client, 'game_get', { id: game.id })).json.features.languages, ['en'])
    const { host } = new URL(game.url)
    const source = await ask('GET', `http://127.0.0.1:${new URL(platform.portal).port}/room.js`, { headers: { host } })
    t.equal(source.status, 404, 'nobody reads the script')

    const unknown = await callTool(client, 'deploy_folder', { ...build, force: true, preview: 'yes' })
    t.match(unknown, {
      refused: true,
      json: { error: { code: 'invalid_request', details: [{ path: 'force' }, { path: 'preview' }] } },
    })
    writeFileSync(join(folder, '../outside.js'), 'export const open = 1')
    write('referee/gameyard.json', JSON.stringify({ ...project, room: '../../outside.js' }))
    const message = /outside\.js is outside of this project/
    t.match(await callTool(client, 'deploy_folder', build), { refused: true, json: { error: { message } } })
    const heavy = callTool(client, 'deploy_files', { gameId: game.id, files: { 'a.txt': 'x'.repeat(33 * 1024 ** 2) } })
    await t.rejects(heavy, /^[^{]*The message is too long, and nothing was changed\. A call has at most 32 MiB/)
    await transport.close()
  })

  t.test('a token that is not valid ends the command with a sentence', async (t) => {
    writeFileSync(join(folder, 'x'), '')
    const other = `${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`
    const { said, connected } = await start('auto', { env: { SERVICE_API_TOKEN: other } })
    await t.rejects(connected)
    t.match(said.join(''), /token/)
    t.notMatch(said.join(''), /\n {4}at /, 'no stack')
  })
})

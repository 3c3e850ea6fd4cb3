import type { Client } from '@modelcontextprotocol/client'
import type { Test } from 'tap'
import type { Cluster } from '../kit/cluster.ts'
import { hasPrograms } from '../kit/components.ts'
import { until } from '../kit/until.ts'
import { AssistantProgram } from '../plugins/assistants/assistant-program.ts'
import { callTool } from '../plugins/assistants/client.ts'
import { mustAsk, signUp, tokenOf } from './cluster-players.ts'

/**
 * A coding assistant: each step of its sign-in, and each of its calls, is on the node that the last one was not on.
 * Jobs run on either node, whichever one a call waits on.
 */
export async function assistants(t: Test, { portal }: Cluster) {
  const ada = await signUp(portal, 'Ada')
  const program = new AssistantProgram(portal)
  await program.signIn(ada)
  const clients = await Promise.all([program.connect('2026'), program.connect('2025')])
  t.teardown(() => Promise.all(clients.map((client) => client.close())))
  for (const client of clients) {
    const { json: game } = await callTool(client, 'game_create', { title: 'Dots', description: '' })
    for (const text of ['one', 'two', 'three']) {
      const files = { 'index.html': `<!doctype html><title>${text}</title>` }
      t.notOk((await callTool(client, 'deploy_files', { gameId: game.id, files })).refused)
      const { json } = await callTool(client, 'game_read_file', { id: game.id, path: 'index.html' })
      t.match(json.text, text)
    }
  }
  program.forgetAccessToken()
  for (const client of clients) t.equal((await callTool(client, 'games_list')).json.games.length, 2, 'renewed')
  await isAsked(t, program)
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const headers = { authorization: `Bearer ${await tokenOf(ada, portal, ['assets:read'])}` }
  // A client of the revisions of 2025 cancels with a message of its own, which arrives at the node without the call.
  await Promise.all(clients.map((client) => cancelWhileItRuns(t, client)))
  await until(async () => {
    const { jobs } = (await mustAsk('GET', `${portal}/api/blender/v1/jobs`, { headers })).body
    return jobs.length === 2 && jobs.every(({ status }: { status: string }) => status === 'cancelled')
  }, 300)
}

/** The answer of a client of 2025 is a message of its own, which arrives at the node without the call. */
async function isAsked(t: Test, program: AssistantProgram) {
  const questions: string[] = []
  const client = await program.connect('2025', (question) => questions.push(question) > 1)
  t.teardown(() => client.close())
  const { json: game } = await callTool(client, 'game_create', { title: 'Asked', description: '' })
  const replace = { gameId: game.id, whole: true, files: { 'index.html': '<!doctype html><title>New</title>' } }
  t.match(await callTool(client, 'deploy_files', replace), { refused: true, json: /said no/ })
  t.notOk((await callTool(client, 'deploy_files', replace)).refused)
  t.match(questions, [/Replace everything/, /Replace everything/])
}

/** Submits a job that takes long, and cancels the call when it reports the progress of the running job. */
async function cancelWhileItRuns(t: Test, client: Client) {
  const stop = new AbortController()
  const work = { name: 'Slow', script: 'import time\ntime.sleep(600)\n' }
  const call = client.callTool(
    { name: 'blender_submit', arguments: work },
    {
      signal: stop.signal,
      timeout: 600_000,
      onprogress: ({ message = '' }) => {
        if (!/queue/.test(message)) stop.abort()
      },
    },
  )
  await t.rejects(call)
  t.ok(stop.signal.aborted, 'the job ran')
}

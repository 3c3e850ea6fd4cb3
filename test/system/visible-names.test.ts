// Every name, title and label is judged by what people see of it, at every door where one is given.
import t from 'tap'
import { Authenticator } from '../kit/authenticator.ts'
import { Client, PASSWORD, startPlatform } from '../kit/platform.ts'

const INVISIBLE = ['\u200b', '\u3164 \u2800', '\u202e\u2066']

t.test('a name that shows nothing is refused everywhere, and what shows nothing is left out', async (t) => {
  const platform = await startPlatform(t, { config: { auth: { guests: true } } })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner)
  const { body: app } = await program.post('/api/oauth/apps', { name: 'x', redirectUris: ['https://x.example/cb'] })
  const device = () => new Authenticator(platform.portal)
  let people = 0
  // Each gives a name, and returns the answer with the name as it was stored.
  const doors: Record<string, (name: string) => Promise<{ status: number; name: unknown }>> = {
    'an API token': async (label) => named(await owner.post('/api/tokens', { label, scopes: ['games:read'] }), 'label'),
    'a passkey': async (label) => {
      const { body } = await owner.post('/api/auth/passkeys/options')
      return named(await owner.post('/api/auth/passkeys', { label, response: device().create(body, 0) }), 'label')
    },
    'a new game': async (title) => named(await program.post('/api/games', { title, description: '' }), 'title'),
    'a game': async (title) => named(await program.patch(`/api/games/${game.id}`, { title }), 'title'),
    'a board': async (title) => named(await program.put(`/api/games/${game.id}/boards/laps`, { title }), 'title'),
    'a new application': async (name) =>
      named(await program.post('/api/oauth/apps', { name, redirectUris: ['https://x.example/cb'] })),
    'an application': async (name) => named(await program.patch(`/api/oauth/apps/${app.id}`, { name })),
    'a new player': async (name) => {
      const fields = { name, email: `ada-${people++}@example.org`, password: PASSWORD }
      const { status, body } = await new Client(platform.app).post('/api/auth/sign-up', fields)
      return { status, name: body.user?.name }
    },
    'a guest': async (name) => {
      const { status, body } = await new Client(platform.app).post('/api/auth/guest', { name })
      return { status, name: body.user?.name }
    },
    'a player': async (name) => {
      const { status } = await owner.submit('/settings/name', { name })
      return { status, name: (await owner.get('/api/auth/session')).body.user.name }
    },
  }
  for (const [door, give] of Object.entries(doors)) {
    for (const name of INVISIBLE) t.match(await give(name), { status: 400 }, `${door}: ${JSON.stringify(name)}`)
    const { status, name } = await give('Ada\u200b\u2028 L.\u200d')
    t.ok([200, 201, 303].includes(status), `${door}: ${status}`)
    t.equal(name, 'Ada L.', door)
  }
})

const named = ({ status, body }: { status: number; body: Record<string, unknown> }, field = 'name') => ({
  status,
  name: body[field] ?? (body.token as Record<string, unknown> | undefined)?.[field],
})

import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

t.test('tokens that are made at once count each other on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens'],
    config: {
      database: { driver: 'postgres', url },
      secret: 'a secret of the cluster, long enough for it',
      limits: { tokensPerPlayer: 3 },
    },
  })
  const player = await platform.signUp()
  const make = (n: number) => player.post('/api/tokens', { label: `Token ${n}`, scopes: ['games:read'] })
  const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => make(n)))
  t.same(answers.map(({ status }) => status).toSorted(), [201, 201, 201, 409, 409, 409, 409, 409])
})

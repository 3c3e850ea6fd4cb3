// The proof of work of a new account: each is good once, for ten minutes, and can't be made up.
import { createHmac, pbkdf2Sync } from 'node:crypto'
import t, { type Test } from 'tap'
import { ANSWERS } from '../../../plugins/oauth-idp/players/sign-up-challenge.ts'
import { PASSWORD, type Platform, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']

const openPlatform = (t: Test, auth: Record<string, unknown> = {}) =>
  startPlatform(t, { only, config: { auth: { signUpChallenge: 'work', ...auth } } })

let people = 0
const account = () => ({ name: 'Ada', email: `worker${++people}@example.org`, password: PASSWORD })

interface Challenge {
  salt: string
  target: string
  iterations: number
  answers: number
  token: string
}

/** Finds the answer as the documentation says. */
function answerOf({ salt, target, iterations, answers }: Challenge): number {
  for (let answer = 0; answer < answers; answer++) {
    const found = pbkdf2Sync(String(answer), Buffer.from(salt, 'base64url'), iterations, 32, 'sha256')
    if (found.toString('base64url') === target) return answer
  }
  throw new Error('No answer.')
}

async function challengeOf({ stranger }: Platform): Promise<Challenge & { answer: number }> {
  const { challenge } = (await stranger.get('/api/auth/sign-up/challenge')).body
  return { ...challenge, answer: answerOf(challenge) }
}

const refused = (code: string) => ({ status: 403, body: { error: { code } } })

t.test('an account takes a proof of work, which is good once', async (t) => {
  const platform = await openPlatform(t)
  const { stranger } = platform
  const signUp = (work?: string) => stranger.post('/api/auth/sign-up', { ...account(), ...(work ? { work } : {}) })
  t.match(await signUp(), refused('challenge_required'))
  const guessed = await challengeOf(platform)
  const { token, answer } = await challengeOf(platform)
  t.match(await signUp(`${guessed.token}.${(guessed.answer + 1) % ANSWERS}`), refused('challenge_invalid'), 'a guess')
  t.match(await signUp(`${guessed.token}.${guessed.answer}`), refused('challenge_invalid'), 'no second guess')
  const answers = await Promise.all(Array.from({ length: 5 }, () => signUp(`${token}.${answer}`)))
  t.same(answers.map(({ status }) => status).sort(), [201, 403, 403, 403, 403], 'of five at once one counts')
  t.match(await signUp(`${token}.${answer}`), refused('challenge_invalid'), 'a replay')
})

t.test('an expired or forged proof, or one of another difficulty, is refused', async (t) => {
  const platform = await openPlatform(t)
  const signUp = (work: string) => platform.stranger.post('/api/auth/sign-up', { ...account(), work })
  const late = await challengeOf(platform)
  platform.clock.advance(10 * 60_000 + 1)
  t.match(await signUp(`${late.token}.${late.answer}`), refused('challenge_invalid'), 'expired')

  const { token, answer } = await challengeOf(platform)
  const [payload = '', signature = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const own = { ...claims, salt: Buffer.alloc(16, 7).toString('base64url') }
  own.target = pbkdf2Sync('0', Buffer.alloc(16, 7), claims.iterations, 32, 'sha256').toString('base64url')
  const made = Buffer.from(JSON.stringify(own)).toString('base64url')
  const bySelf = createHmac('sha256', 'a guess').update(made).digest('base64url')
  t.match(await signUp(`${made}.${bySelf}.0`), refused('challenge_invalid'), 'made by the visitor')
  t.match(await signUp(`${made}.${signature}.0`), refused('challenge_invalid'), 'with the signature of another')
  const easy = { ...claims, iterations: 1 }
  easy.target = pbkdf2Sync('0', Buffer.from(easy.salt, 'base64url'), 1, 32, 'sha256').toString('base64url')
  const encoded = Buffer.from(JSON.stringify(easy)).toString('base64url')
  t.match(await signUp(`${encoded}.${signature}.0`), refused('challenge_invalid'), 'another payload')
  const forged = createHmac('sha256', 'a guess').update(encoded).digest('base64url')
  t.match(await signUp(`${encoded}.${forged}.0`), refused('challenge_invalid'), 'another key')
  const key = platform.app.keys.derive('oauth-idp/sign-up-challenge')
  const signed = createHmac('sha256', key).update(encoded).digest('base64url')
  t.match(await signUp(`${encoded}.${signed}.0`), refused('challenge_invalid'), 'of an easier configuration')
  for (const work of [`${token}.-1`, `${token}.${answer}.${answer}`, `${token}.1e2`, '..', `${token}`, 'x.y.0', '0'])
    t.match(await signUp(work), refused('challenge_invalid'), work.slice(-12))
  t.equal((await signUp(`${token}.${answer}`)).status, 201, 'what is malformed uses nothing up')
})

t.test('guests need one, invited people and administrators none', async (t) => {
  const platform = await openPlatform(t, { guests: true })
  const { stranger, app } = platform
  t.match(await stranger.post('/api/auth/guest', { name: 'Guest' }), refused('challenge_required'))
  const { token, answer } = await challengeOf(platform)
  const guest = await stranger.post('/api/auth/guest', { name: 'Guest', work: `${token}.${answer}` })
  t.equal(guest.status, 201)
  t.ok((await platform.admin()).id, 'the set-up link')
  const [invitation] = await app.identity.invitations.make(['For Bob'])
  const { pathname } = new URL(invitation?.link as string)
  t.equal((await stranger.submit('/sign-out', {})).status, 303)
  t.match(await stranger.submit(pathname, account()), { status: 303 })
})

t.test('the page says so without JavaScript, and there is nothing of it by default', async (t) => {
  const platform = await openPlatform(t)
  t.match(
    (await platform.stranger.get('/sign-up')).text,
    /data-work[\s\S]*role="status"[\s\S]*<noscript>[\s\S]*JavaScript/,
  )
  t.match(await platform.stranger.submit('/sign-up', account()), { status: 403, text: /JavaScript/ })
  const open = await startPlatform(t, { only })
  t.match(await open.stranger.get('/api/auth/sign-up/challenge'), { status: 200, body: { challenge: null } })
  t.notMatch((await open.stranger.get('/sign-up')).text, /data-work|noscript/)
  t.equal((await open.stranger.post('/api/auth/sign-up', account())).status, 201)
})

t.test('on plain http, where browsers have no Web Crypto, the platform does not start with it', async (t) => {
  const config = {
    auth: { signUpChallenge: 'work' },
    portal: { url: 'http://yard.example.org' },
    games: { domain: 'games.example' },
  }
  await t.rejects(startPlatform(t, { only, config }), /needs a portal.url with https/)
})

t.test('addresses at blocked domains and their subdomains get no account', async (t) => {
  const platform = await startPlatform(t, {
    only,
    config: { auth: { blockedEmailDomains: ['Mail.example', 'bücher.example'] } },
  })
  const signUp = (email: string) => platform.stranger.post('/api/auth/sign-up', { ...account(), email })
  const blocked = { status: 400, body: { error: { code: 'email_domain_blocked', details: [{ path: 'email' }] } } }
  for (const domain of ['mail.example', 'MAIL.example', 'a.b.mail.example', 'bücher.example', 'xn--bcher-kva.example'])
    t.match(await signUp(`ada@${domain}`), blocked, domain)
  t.equal((await signUp('ada@notmail.example')).status, 201)
  t.equal((await signUp('ada@mail.example.org')).status, 201)
  const player = await platform.signUp()
  t.match(await player.submit('/settings/email', { email: 'eve@x.mail.example', password: PASSWORD }), {
    status: 400,
    text: /Addresses at x\.mail\.example are not accepted here/,
  })
})

import t from 'tap'
import { cookieNamesAt, cookieValues, valuesOf } from '../../../core/origins/cookies.ts'

t.test('every value of a doubled cookie is seen', async (t) => {
  t.same(cookieValues('a=1; session=x; b=2; session=y', 'session'), ['x', 'y'])
  t.same(cookieValues('sessions=x; __Host-session=z', 'session'), [])
  t.same(cookieValues('session=a=b', 'session'), ['a=b'])
  t.same(cookieValues('=session; session', 'session'), [])
  t.same(cookieValues(undefined, 'session'), [])
})

t.test('the name of a cookie contains the port on http, where the former name is still read', (t) => {
  const names = (origin: string) => cookieNamesAt(origin, { http: 'session', https: '__Host-session' })
  t.same(names('https://yard.example'), { name: '__Host-session', former: null })
  t.same(names('https://yard.example:8443'), { name: '__Host-session', former: null })
  t.same(names('http://localhost:8080'), { name: 'gameyard_session_8080', former: 'session' })
  t.same(names('http://10.0.0.7'), { name: 'gameyard_session_80', former: 'session' })
  const here = names('http://localhost:8080')
  t.same(valuesOf('session=a; gameyard_session_8080=b', here), ['b'])
  t.same(valuesOf('session=a; gameyard_session_9090=b', here), ['a'])
  t.same(valuesOf('session=a', names('https://yard.example')), [])
  t.end()
})

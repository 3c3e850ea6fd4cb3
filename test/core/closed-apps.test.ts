import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Gauge } from 'prom-client'
import t from 'tap'
import { definePlugin } from '../../core/plugin.ts'
import { startKernel } from '../kit/kernel.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const APPS = 6
/** MikroORM keeps the last entity manager of each entity, and V8 what is on the stack. */
const MOST_LEFT = 3

/** A metric that asks the app, as those of rooms do. */
const gauge = definePlugin({ name: 'gauge' }, async (app) => {
  new Gauge({
    name: 'test_routes',
    help: 'Routes.',
    registers: [app.metrics],
    collect() {
      this.set(app.routeTable.entries.length)
    },
  })
})

t.test('an app that has closed is freed', async (t) => {
  const apps: WeakRef<object>[] = []
  for (let count = 0; count < APPS; count++)
    await t.test('starts, counts a request and closes', async (t) => {
      const app = await startKernel(t, { plugins: [gauge] })
      t.match((await app.inject('/metrics')).body, /^test_routes [1-9]/m)
      apps.push(new WeakRef(app))
    })
  const left = () => apps.filter((app) => app.deref()).length
  for (let tries = 0; tries < 20 && left() > MOST_LEFT; tries++) {
    await nextTurn()
    collectGarbage()
    await nextTurn()
  }
  t.ok(left() <= MOST_LEFT, `${left()} of ${APPS} are left`)
})

import t from 'tap'
import { inspectScript } from '../../../../plugins/deploy/room-script/inspect.ts'
import { startScripts } from './kit.ts'

const VALUES = ['-1', '0', '0.5', '1', '2.5', '60', '61', '1e6', '1000001', "'5'", 'null', 'true', '{}', '[]']

t.test('a deploy accepts exactly the settings with which rooms open', async (t) => {
  const { open, enter } = startScripts(t)
  for (const name of ['tick', 'players', 'clientState', 'relay']) {
    for (const value of VALUES) {
      const source = `export const settings = { ${name}: ${value} }\nexport const join = () => {}`
      const room = `${name}-${VALUES.indexOf(value)}`
      const opens = await open(source, { game: room, room })
        .then((hosted) => enter(hosted))
        .then(
          () => true,
          () => false,
        )
      const { problem } = inspectScript(source)
      t.equal(problem === null, opens, `${name}: ${value}, ${problem?.message ?? 'accepted'}`)
    }
  }
})

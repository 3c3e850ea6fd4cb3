import t from 'tap'
import { testBlenderDriver } from '../../../drivers/blender/conformance.ts'
import docker from '../../../drivers/blender/docker.ts'
import { hasPrograms } from '../../kit/components.ts'
import { startDocker } from '../../kit/docker.ts'
import { driverContext } from '../../kit/driver-context.ts'

const settings = {
  command: 'blender',
  capacity: 2,
  memoryBytes: 1024 ** 3,
  diskBytes: 64 * 1024 ** 2,
  processes: 64,
  threads: 2,
}

if (hasPrograms(t, 'dockerd', 'docker', 'blender')) {
  const engine = await startDocker(t)
  const { socketPath, image, readOnlyMounts } = engine

  testBlenderDriver({
    name: 'docker',
    create: () => docker.create({ ...settings, socketPath, image, readOnlyMounts }, driverContext()),
    leftovers: engine.leftovers,
    mounts: engine.mounts,
  })

  t.test('an image that is not there, and an engine that is not there, are said to be missing', async (t) => {
    const without = await docker.create(
      { ...settings, socketPath, image: 'nothing:1', readOnlyMounts },
      driverContext(),
    )
    t.match(await without.check(), { available: false, reason: /no image nothing:1/ })
    const nowhere = await docker.create(
      { ...settings, socketPath: '/nowhere.sock', image, readOnlyMounts },
      driverContext(),
    )
    t.match(await nowhere.check(), { available: false, reason: /nowhere\.sock does not answer/ })
    await nowhere.sweep()
    t.same(await engine.leftovers(), [])
  })

  t.test(
    'what a process that died left on the engine is removed by the next, and what others have is left',
    async (t) => {
      const { default: Docker } = await import('dockerode')
      const api = new Docker({ socketPath })
      const { createContainer, nodeLabel, removeContainer } = await import('../../../drivers/blender/container.ts')
      const dataDir = '/srv/one'
      const options = { ...settings, image, readOnlyMounts }
      const program = ['/bin/sh', '-c', 'sleep 600']
      const mine = await createContainer(api, options, {
        name: 'lost',
        node: nodeLabel(dataDir),
        program,
        artifactBytes: 1,
      })
      await mine.start()
      await createContainer(api, options, {
        name: 'other',
        node: nodeLabel('/srv/two'),
        program,
        artifactBytes: 1,
      })
      t.teardown(() => removeContainer(api, 'other'))
      const executor = await docker.create(
        { ...settings, socketPath, image, readOnlyMounts },
        driverContext({ dataDir }),
      )
      await executor.sweep()
      const left = await api.listContainers({ all: true })
      t.same(
        left.map(({ Names }) => Names[0]),
        ['/other'],
      )
      const { Volumes } = await api.listVolumes()
      t.same(
        Volumes.map(({ Name }) => Name),
        ['other'],
      )
    },
  )
}

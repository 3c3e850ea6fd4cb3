import { testBusDriver } from '../../../drivers/bus/conformance.ts'
import local from '../../../drivers/bus/local.ts'
import { driverContext } from '../../kit/driver-context.ts'

testBusDriver({ name: 'local', create: () => local.create({}, driverContext()), supports: { shared: false } })

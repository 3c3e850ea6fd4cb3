import Type from 'typebox'
import { defineDriver } from '../../core/driver.ts'
import { type BlenderExecutor, ExecutorUnavailable } from './interface.ts'

const REASON = 'blender.driver is none.'

/** Runs no jobs, for machines without Blender or whose jobs run elsewhere (`gameyard worker`). */
export default defineDriver({
  family: 'blender',
  name: 'none',
  config: Type.Object({}, { additionalProperties: false }),

  async create(): Promise<BlenderExecutor> {
    return {
      name: 'none',
      capacity: 0,
      check: async () => ({ available: false, reason: REASON }),
      run: async () => {
        throw new ExecutorUnavailable(REASON)
      },
      sweep: async () => {},
      close: async () => {},
    }
  },
})

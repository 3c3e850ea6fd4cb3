import Type from 'typebox'
import { defineDriver } from '../../core/driver.ts'
import { BadSignature, type Payments, PaymentsUnavailable } from './interface.ts'

/** Disables payments: nothing is for sale. */
export default defineDriver({
  family: 'payments',
  name: 'none',
  config: Type.Object({}, { additionalProperties: false }),

  create: async (): Promise<Payments> => ({
    packs: [],
    decimals: () => 2,
    async checkout() {
      throw new PaymentsUnavailable()
    },
    async receive() {
      throw new BadSignature()
    },
    async close() {},
  }),
})

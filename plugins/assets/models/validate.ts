/// <reference path="./modules.d.ts" />
import { validateBytes } from 'gltf-validator'
import { ModelRefusal, REPAIR } from './refusal.ts'

const MOST_ISSUES = 20
/** The code of normals and tangents of another length than 1. */
const NOT_UNIT = 'ACCESSOR_VECTOR3_NON_UNIT'

/**
 * Validates a glTF binary with the Khronos validator. Warnings and hints pass.
 *
 * @throws ModelRefusal with the validator's errors, as JSON pointers and messages
 */
export async function validate(bytes: Uint8Array): Promise<void> {
  const report = await validateBytes(bytes, { format: 'glb', maxIssues: 0, writeTimestamp: false }).catch(
    (error: unknown) => {
      throw new ModelRefusal('the Khronos validator cannot read it.', [
        { path: '/', message: String(error).slice(0, 200) },
      ])
    },
  )
  const { numErrors, messages } = report.issues
  if (numErrors === 0) return
  const errors = messages.filter(({ severity }) => severity === 0)
  const [first] = errors
  const repairable = errors.every(({ code }) => code === NOT_UNIT) ? ` ${REPAIR}` : ''
  throw new ModelRefusal(
    `the Khronos validator finds ${numErrors === 1 ? 'an error' : `${numErrors} errors`}: ${first?.message}${repairable}`,
    errors.slice(0, MOST_ISSUES).map(({ pointer, offset, code, message }) => ({
      path: pointer ?? (offset === undefined ? '/' : `byte ${offset}`),
      message: `${code}: ${message}`.slice(0, 300),
    })),
  )
}

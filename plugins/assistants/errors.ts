import { defineError } from '../../core/errors.ts'

export const BatchRefused = defineError(
  'invalid_request',
  400,
  'Send one JSON-RPC message a request; batches were removed from the protocol in its revision of 2025-06-18.',
)

import { createHash } from 'node:crypto'

/** Hashes random secrets for storage: SHA-256, base64url (43 characters). It is unsafe for passwords. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('base64url')

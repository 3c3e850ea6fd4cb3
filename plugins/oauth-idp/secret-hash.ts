import { createHash } from 'node:crypto'

/** How secrets of full randomness are stored: SHA-256, base64url (43 characters). Never for passwords. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('base64url')

import { createHash } from 'node:crypto'

/** Whether a client id is the address of a metadata document: https, with a path, and nothing hidden in it. */
export function isMetadataUrl(clientId: string): boolean {
  if (!/^https:\/\/[\x21-\x7e]+$/.test(clientId) || clientId.length > 2000 || !URL.canParse(clientId)) return false
  const { href, pathname, hash, username, password } = new URL(clientId)
  return href === clientId && pathname !== '/' && !hash && !clientId.includes('#') && !username && !password
}

/** The id under which the client of a document is stored. */
export const metadataClientId = (url: string): string =>
  `svc_client_doc_${createHash('sha256').update(url).digest('base64url').slice(0, 32)}`

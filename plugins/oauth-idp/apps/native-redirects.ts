/**
 * Schemes of well-known editors, which assistants use as redirect URIs. Beside these a scheme must be a domain name in
 * reverse (RFC 8252 section 7.1), which names its owner.
 */
const EDITORS = ['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:', 'zed:']

/** Whether a redirect URI leads to a program of its own scheme, such as `cursor://…` or `com.example.app:/done`. */
export function isNativeRedirect(uri: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(uri) || /[\\"<>^`{|}*#]/.test(uri) || uri.length > 2000 || !URL.canParse(uri)) return false
  const { protocol } = new URL(uri)
  return EDITORS.includes(protocol) || /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/.test(protocol)
}

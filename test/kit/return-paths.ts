/** Ways back that stay on their site, and what a redirect says of them. */
export const SAFE_PATHS: readonly (readonly [wanted: string, path: string])[] = [
  ['/', '/'],
  ['/a/b?c=d#e', '/a/b?c=d#e'],
  ['/a//b', '/a//b'],
  ['/%2f%2fevil.example', '/%2f%2fevil.example'],
  ['/a/../b', '/b'],
  ['/?next=//evil.example', '/?next=//evil.example'],
  ['/#//evil.example', '/#//evil.example'],
  ['/@evil.example', '/@evil.example'],
  ['/grüße', '/gr%C3%BC%C3%9Fe'],
]

const HOST = 'evil.example'

/** Ways back that lead to another site, or that some program could read so. A redirect leads to `/` instead. */
export const HOSTILE_PATHS: readonly string[] = [
  // Other schemes and whole addresses.
  ...['', HOST, `https://${HOST}`, `http://${HOST}`, `HTTPS://${HOST}`, `https:${HOST}`, `https:/${HOST}`],
  ...[
    `ftp://${HOST}`,
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:x',
    'file:///',
  ],
  ...[`?next=${HOST}`, `#${HOST}`, 'a/b', './a', '../a', `@${HOST}`, `:80@${HOST}`],
  // Two slashes in all their forms.
  ...[
    `//${HOST}`,
    `///${HOST}`,
    `////${HOST}`,
    `//${HOST}/a`,
    `//${HOST}:443`,
    `//user@${HOST}`,
    `//localhost@${HOST}`,
  ],
  ...[
    `/\\${HOST}`,
    `\\/${HOST}`,
    `\\\\${HOST}`,
    `/\\/${HOST}`,
    `//\\${HOST}`,
    `/\\\\${HOST}`,
    `\\${HOST}`,
    `/a\\..\\${HOST}`,
  ],
  // Dot segments that leave two slashes.
  ...[`/.//${HOST}`, `/..//${HOST}`, `/./..//${HOST}`, `/x/..//${HOST}`, `/x/y/../..//${HOST}`, `/../..//${HOST}`],
  ...[`/%2e//${HOST}`, `/%2E//${HOST}`, `/%2e%2e//${HOST}`, `/.%2e//${HOST}`, `/%2e.//${HOST}`, `/x/%2e%2e//${HOST}`],
  ...[`/.///${HOST}`, `/x/..///${HOST}`, `/.//${HOST}?a`, `/.//${HOST}#a`, `/.//user@${HOST}`],
  // What parsers drop before they read: tabs, line breaks, other control characters, spaces at the ends.
  ...[`/\t/${HOST}`, `/\n/${HOST}`, `/\r/${HOST}`, `/\r\n/${HOST}`, `\t//${HOST}`, `\n//${HOST}`, ` //${HOST}`],
  ...[
    `/\0/${HOST}`,
    `\0//${HOST}`,
    `/\x0b/${HOST}`,
    `/\x7f/${HOST}`,
    `/\x85/${HOST}`,
    `/.\t//${HOST}`,
    `/\t.//${HOST}`,
  ],
  ...[`/a\r\nLocation: https://${HOST}`, `/a\nSet-Cookie: a=b`, `/a\u0000`],
]

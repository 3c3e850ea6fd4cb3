/** Parses a URL; returns null when it is invalid. Node 20 does not have `URL.parse`. */
export const parseAddress = (text: string, base?: string): URL | null =>
  URL.canParse(text, base) ? new URL(text, base) : null

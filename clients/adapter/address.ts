/** An address, or null when it is none. (`URL.parse` is younger than Node 20.) */
export const parseAddress = (text: string, base?: string): URL | null =>
  URL.canParse(text, base) ? new URL(text, base) : null

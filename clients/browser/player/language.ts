/** Returns the language of an element: its `lang`, or that of the nearest element around it; empty when none has one. */
export const languageOf = (element: Element): string => element.closest<HTMLElement>('[lang]')?.lang ?? ''

/**
 * Returns the built-in texts in a language, by its first subtag (`de-AT` is `de`), else those in English.
 *
 * @param builtIn by language: the texts, separated by `|`
 */
export function builtInTexts(
  builtIn: Record<string, string> & { en: string },
  language: string,
): { texts: string[]; language: string } {
  const known = language.toLowerCase().split('-')[0] ?? ''
  const own = Object.hasOwn(builtIn, known)
  return { texts: (builtIn[own ? known : 'en'] as string).split('|'), language: own ? language : 'en' }
}

/** Calls a function after the page has changed its language, as a game does whose players choose one. */
export function onLanguageChange(changed: () => void, signal?: AbortSignal): void {
  const observer = new MutationObserver(changed)
  observer.observe(document.documentElement, { attributeFilter: ['lang'] })
  signal?.addEventListener('abort', () => observer.disconnect())
}

import { type CookieNames, cookieNamesAt, valuesOf } from '../origins/cookies.ts'

/** Returns the names of the cookie with a visitor's choice of a colour scheme. Scripts set it (islands/theme.ts). */
export const themeCookie = (portalUrl: string): CookieNames =>
  cookieNamesAt(portalUrl, { http: 'theme', https: 'theme' })

/** Returns the colour scheme that a visitor has chosen; null for that of the system. */
export function chosenTheme(portalUrl: string, cookies: string | undefined): 'light' | 'dark' | null {
  const [value] = cookies === undefined ? [] : valuesOf(cookies, themeCookie(portalUrl))
  return value === 'light' || value === 'dark' ? value : null
}

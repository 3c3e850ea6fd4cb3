import { builtInTexts } from './language.ts'

/** The texts of the sign-in button and of the signed-in player. */
export interface Texts {
  signIn: string
  /** The name of the button for screen readers; `{game}` is the name of the game. */
  signInTo: string
  signOut: string
  /** `{name}` is the name of the player. */
  signedInAs: string
}

/** Texts of a game, each instead of a built-in one. */
export type OwnTexts = { [Name in keyof Texts]?: string | undefined }

/** A text in its language, which screen readers need where it differs from the page's. */
export interface Text {
  text: string
  lang: string
}

/** signIn, signInTo, signOut, signedInAs; without words that depend on the player's gender. */
const BUILT_IN = {
  en: 'Sign in|Sign in to {game}|Sign out|Signed in as {name}',
  de: 'Anmelden|Anmelden bei {game}|Abmelden|Angemeldet als {name}',
  es: 'Iniciar sesión|Iniciar sesión en {game}|Cerrar sesión|Sesión de {name}',
  fr: 'Se connecter|Se connecter à {game}|Se déconnecter|Session de {name}',
  it: 'Accedi|Accedi a {game}|Esci|Accesso come {name}',
  ja: 'ログイン|ログイン: {game}|ログアウト|ログイン中: {name}',
  ko: '로그인|로그인: {game}|로그아웃|로그인됨: {name}',
  nl: 'Inloggen|Inloggen bij {game}|Uitloggen|Ingelogd als {name}',
  pl: 'Zaloguj się|Zaloguj się: {game}|Wyloguj się|Zalogowano jako {name}',
  pt: 'Entrar|Entrar: {game}|Sair|Sessão de {name}',
  ru: 'Войти|Войти: {game}|Выйти|Вход выполнен: {name}',
  zh: '登录|登录：{game}|退出登录|已登录：{name}',
}

/**
 * Returns the texts in a language.
 *
 * @param own texts of the game, in its language, which take the place of the built-in ones
 */
export function textsIn(language: string, own: OwnTexts = {}): Record<keyof Texts, Text> {
  const builtIn = builtInTexts(BUILT_IN, language)
  const [signIn, signInTo, signOut, signedInAs] = builtIn.texts as [string, string, string, string]
  const choose = (given: string | undefined, text: string): Text =>
    given ? { text: given, lang: language } : { text, lang: builtIn.language }
  return {
    signIn: choose(own.signIn, signIn),
    // Voice control needs the visible text in the name (WCAG 2.5.3).
    signInTo: choose(own.signInTo ?? (own.signIn && `${own.signIn}: {game}`), signInTo),
    signOut: choose(own.signOut, signOut),
    signedInAs: choose(own.signedInAs, signedInAs),
  }
}

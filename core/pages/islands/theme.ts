const year = 365 * 24 * 60 * 60

/**
 * Switches between light, dark and the system's colour scheme. A cookie stores the choice, so that the server writes it
 * into the page and no page appears in the wrong colours first.
 */
export function enableThemeSwitch(): void {
  const group = document.querySelector<HTMLElement>('[data-theme-switch]')
  if (!group) return
  const buttons = [...group.querySelectorAll('button')]
  const mark = () => {
    const chosen = document.documentElement.dataset.theme ?? 'auto'
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.value === chosen))
  }
  group.hidden = false
  mark()
  group.addEventListener('click', (event) => {
    const button = (event.target as Element).closest('button')
    if (!button) return
    const auto = button.value === 'auto'
    if (auto) delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = button.value
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs a secure context, which a LAN is not
    document.cookie = `${group.dataset.themeSwitch}=${button.value}; path=/; max-age=${year}; samesite=lax`
    mark()
  })
}

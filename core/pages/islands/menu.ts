/**
 * Closes menus on Escape, on a press elsewhere, and when the focus leaves them. Without scripts a menu is a `<details>` that only its summary
 * closes.
 */
export function closeMenus(): void {
  const open = () => document.querySelector<HTMLDetailsElement>('details.menu[open]')
  document.addEventListener('click', (event) => {
    const menu = open()
    if (menu && !menu.contains(event.target as Node)) menu.open = false
  })
  document.addEventListener('focusin', (event) => {
    const menu = open()
    if (menu && !menu.contains(event.target as Node)) menu.open = false
  })
  document.addEventListener('keydown', (event) => {
    const menu = open()
    if (event.key !== 'Escape' || !menu) return
    menu.open = false
    menu.querySelector('summary')?.focus()
  })
}

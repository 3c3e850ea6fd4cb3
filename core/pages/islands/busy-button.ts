/**
 * Marks a button whose action is under way. It keeps the focus, which `disabled` would take away, and presses have no
 * effect.
 */
export function setBusy(button: HTMLButtonElement, isBusy: boolean): void {
  if (isBusy) button.setAttribute('aria-disabled', 'true')
  else button.removeAttribute('aria-disabled')
}

/** Ignores presses of busy buttons. Enter in a field presses the button of its form, too. */
export function ignoreBusyButtons(): void {
  document.addEventListener(
    'click',
    (event) => {
      if (!(event.target as Element).closest('button[aria-disabled=true]')) return
      event.preventDefault()
      event.stopImmediatePropagation()
    },
    true,
  )
}

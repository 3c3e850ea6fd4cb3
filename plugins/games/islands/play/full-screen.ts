/**
 * Offers full screen: that of the browser, or where it has none, such as on iPhones, a frame that covers the page, with
 * a button that ends it.
 */
export function offerFullScreen(place: HTMLElement, frame: HTMLIFrameElement): void {
  const button = document.querySelector<HTMLButtonElement>('[data-full-screen]')
  const exit = place.querySelector<HTMLButtonElement>('[data-exit-full-screen]')
  if (!button || !exit) return
  button.hidden = false
  button.addEventListener('click', async () => {
    if (document.fullscreenEnabled) await frame.requestFullscreen()
    else document.documentElement.classList.add('game-fills-page')
    frame.focus()
  })
  exit.addEventListener('click', () => {
    endFullScreen()
    button.focus({ preventScroll: true })
  })
}

/** Ends the full screen of the page; that of the browser ends by its own key. */
export const endFullScreen = (): void => document.documentElement.classList.remove('game-fills-page')

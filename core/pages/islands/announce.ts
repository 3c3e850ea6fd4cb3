let region: HTMLElement | undefined

/** Has screen readers say a message that the page shows in another way. */
export function announce(message: string): void {
  if (!region) {
    region = document.createElement('div')
    region.className = 'visually-hidden'
    region.setAttribute('role', 'status')
    document.body.append(region)
  }
  region.textContent = message
}

const STEPS = [0.25, 0.5, 0.75]

/**
 * Returns a function that has screen readers say the progress of an upload at 25, 50 and 75 per cent, since every
 * percentage would be too much to listen to. It takes the part that is done, from 0 to 1.
 */
export function progressAnnouncer(): (part: number) => void {
  let said = 0
  return (part) => {
    const reached = STEPS.filter((step) => part >= step).at(-1) ?? 0
    if (reached > said) announce(`${reached * 100} %`)
    said = reached
  }
}

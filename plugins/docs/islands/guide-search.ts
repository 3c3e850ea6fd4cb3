/**
 * Shows results in the search field of the guides during typing. Without this script, Enter opens a page of results.
 */
interface Found {
  href: string
  guide: string
  heading: string
  excerpt: string[]
}

const PAUSE_MS = 120

for (const place of document.querySelectorAll<HTMLElement>('[data-guide-search]')) {
  const input = place.querySelector<HTMLInputElement>('input[type=search]')
  if (input) offer(place, input)
}

addEventListener('keydown', (event) => {
  const { target, key, ctrlKey, metaKey, altKey } = event
  if (key !== '/' || ctrlKey || metaKey || altKey) return
  if (target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]')) return
  const input = document.querySelector<HTMLInputElement>('[data-guide-search] input')
  if (!input) return
  event.preventDefault()
  input.focus()
})

function offer(place: HTMLElement, input: HTMLInputElement): void {
  const list = document.createElement('ul')
  list.className = 'guide-found'
  list.hidden = true
  const said = document.createElement('p')
  said.className = 'visually-hidden'
  said.setAttribute('role', 'status')
  place.append(list, said)
  let timer: ReturnType<typeof setTimeout> | undefined
  let asked = ''

  const look = async () => {
    const query = input.value.trim()
    if (query === asked) return
    asked = query
    if (query === '') {
      list.hidden = true
      said.textContent = ''
      return
    }
    const answer = await fetch(`/api/docs/search?q=${encodeURIComponent(query)}`)
    // The query may have changed in the meantime.
    if (!answer.ok || asked !== query) return
    const { sections } = (await answer.json()) as { sections: Found[] }
    list.replaceChildren(...(sections.length > 0 ? sections.map(item) : [nothing(query)]))
    list.hidden = false
    said.textContent = sections.length === 1 ? 'One section' : `${sections.length} sections`
  }
  input.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(look, PAUSE_MS)
  })
  input.addEventListener('focus', () => {
    if (asked && asked === input.value.trim()) list.hidden = false
  })
  place.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll<HTMLAnchorElement>('a')]
    const at = links.indexOf(document.activeElement as HTMLAnchorElement)
    if (event.key === 'Escape' && !list.hidden) {
      list.hidden = true
      input.focus()
    } else if (event.key === 'ArrowDown' && !list.hidden) {
      links[Math.min(at + 1, links.length - 1)]?.focus()
    } else if (event.key === 'ArrowUp' && at >= 0) {
      if (at === 0) input.focus()
      else links[at - 1]?.focus()
    } else return
    event.preventDefault()
  })
  place.addEventListener('focusout', ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && place.contains(relatedTarget))) list.hidden = true
  })
}

function item({ href, guide, heading, excerpt }: Found): HTMLElement {
  const entry = document.createElement('li')
  const link = document.createElement('a')
  link.href = href
  const title = document.createElement('strong')
  title.textContent = heading
  const text = document.createElement('span')
  excerpt.forEach((piece, index) => {
    const part = document.createElement(index % 2 === 1 ? 'mark' : 'span')
    part.textContent = piece
    text.append(part)
  })
  const of = document.createElement('small')
  of.textContent = heading === guide ? '' : guide
  link.append(title, of, text)
  entry.append(link)
  return entry
}

function nothing(query: string): HTMLElement {
  const entry = document.createElement('li')
  entry.className = 'none'
  entry.textContent = `Nothing about “${query}”`
  return entry
}

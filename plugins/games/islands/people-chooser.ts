import { announce } from '../../../core/pages/islands/announce.ts'

/**
 * Lists players while their name is typed: a combobox with a list box by the ARIA pattern. A choice adds the id of the
 * player to the form. Without this script the form sends the name alone.
 */
const WAIT_MS = 150
const LIST = 'chooser-list'

interface FoundPlayer {
  id: string
  name: string
  imageUrl: string
  role: string | null
}

const box = document.querySelector<HTMLElement>('[data-chooser]')
const input = box?.querySelector<HTMLInputElement>('input')
if (box && input) choosePeople(box, input)

function choosePeople(box: HTMLElement, input: HTMLInputElement): void {
  const list = document.createElement('ul')
  list.id = LIST
  list.className = 'chooser-list'
  list.hidden = true
  list.setAttribute('role', 'listbox')
  list.setAttribute('aria-label', 'Players')
  const chosen = document.createElement('input')
  chosen.type = 'hidden'
  chosen.name = 'player'
  // Right below the field, whatever hint or error there is.
  const frame = document.createElement('div')
  frame.className = 'chooser-frame'
  input.replaceWith(frame)
  frame.append(input, list)
  box.append(chosen)
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': LIST,
  })) {
    input.setAttribute(name, value)
  }

  let found: FoundPlayer[] = []
  let active = -1
  let timer: ReturnType<typeof setTimeout> | undefined
  let asked = 0

  const setOpen = (open: boolean) => {
    list.hidden = !open
    input.setAttribute('aria-expanded', String(open))
    if (!open) activate(-1)
  }

  const activate = (index: number) => {
    active = index
    for (const [at, option] of [...list.children].entries()) {
      option.setAttribute('aria-selected', String(at === index))
      if (at === index) option.scrollIntoView({ block: 'nearest' })
    }
    if (index < 0) input.removeAttribute('aria-activedescendant')
    else input.setAttribute('aria-activedescendant', optionId(index))
  }

  const choose = ({ id, name }: FoundPlayer) => {
    input.value = name
    chosen.value = id
    setOpen(false)
    announce(`${name} is chosen.`)
  }

  const search = async () => {
    const name = input.value.trim()
    const turn = ++asked
    if (name === '') return setOpen(false)
    const answer = await fetch(`${box.dataset.chooser}?${new URLSearchParams({ name })}`).catch(() => null)
    // A later letter has asked again, or the list was closed meanwhile.
    if (turn !== asked || !answer?.ok) return
    found = (await answer.json()).players
    if (turn !== asked) return
    list.replaceChildren(...found.map(optionOf))
    activate(-1)
    setOpen(found.length > 0)
    announce(
      found.length === 0 ? 'Nobody found.' : `${found.length} ${found.length === 1 ? 'player' : 'players'} found.`,
    )
  }

  const close = () => {
    asked++
    clearTimeout(timer)
    setOpen(false)
  }

  input.addEventListener('input', () => {
    chosen.value = ''
    clearTimeout(timer)
    timer = setTimeout(search, WAIT_MS)
  })
  input.addEventListener('keydown', (event) => {
    if (event.isComposing) return
    const isOpen = !list.hidden
    const player = isOpen ? found[active] : undefined
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen) return void search()
      const step = event.key === 'ArrowDown' ? 1 : -1
      // One place before the first option and behind the last one is the field itself.
      activate(((active + 1 + step + found.length + 1) % (found.length + 1)) - 1)
    } else if (event.key === 'Enter' && player) {
      event.preventDefault()
      choose(player)
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault()
      close()
    }
  })
  input.addEventListener('blur', close)
  // The field keeps the focus while an option is pressed.
  list.addEventListener('mousedown', (event) => event.preventDefault())
  list.addEventListener('click', (event) => {
    const option = (event.target as Element).closest('[role=option]')
    const player = option && found[[...list.children].indexOf(option)]
    if (player) choose(player)
  })
}

const optionId = (index: number) => `${LIST}-${index}`

function optionOf({ name, imageUrl, role }: FoundPlayer, index: number): HTMLElement {
  const option = document.createElement('li')
  option.id = optionId(index)
  option.setAttribute('role', 'option')
  option.setAttribute('aria-selected', 'false')
  const picture = document.createElement('img')
  picture.className = 'avatar s'
  picture.src = imageUrl
  picture.alt = ''
  const text = document.createElement('bdi')
  text.textContent = name
  option.append(picture, text)
  if (role) {
    const already = document.createElement('span')
    already.className = 'soft'
    already.textContent = `${role} already`
    option.append(already)
  }
  return option
}

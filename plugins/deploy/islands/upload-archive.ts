import { formatBytes } from '../../../core/format-bytes.ts'
import { announce, progressAnnouncer } from '../../../core/pages/islands/announce.ts'
import { setBusy } from '../../../core/pages/islands/busy-button.ts'

/** Adds drag and drop and upload progress to the archive form. Without this script the form submits as usual. */
const form = document.querySelector<HTMLFormElement>('#upload-archive')
const zone = form?.querySelector<HTMLElement>('.drop')
const input = form?.querySelector<HTMLInputElement>('input[type="file"]')
const shown = form?.querySelector<HTMLElement>('.progress')
const bar = shown?.querySelector('progress')
const status = shown?.querySelector('p')
const button = form?.querySelector<HTMLButtonElement>('button[type="submit"]')

if (form && zone && input && shown && bar && status && button) {
  for (const name of ['dragenter', 'dragover']) {
    zone.addEventListener(name, (event) => {
      event.preventDefault()
      zone.classList.add('over')
    })
  }
  for (const name of ['dragleave', 'drop']) zone.addEventListener(name, () => zone.classList.remove('over'))
  zone.addEventListener('drop', (event) => {
    event.preventDefault()
    const { dataTransfer } = event as DragEvent
    if (dataTransfer?.files.length) input.files = dataTransfer.files
  })

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const request = new XMLHttpRequest()
    const say = (text: string, wrong = false) => {
      shown.hidden = false
      shown.classList.toggle('wrong', wrong)
      bar.hidden = wrong
      setBusy(button, !wrong)
      if (wrong) status.setAttribute('role', 'alert')
      else status.removeAttribute('role')
      status.textContent = text
    }
    const announceProgress = progressAnnouncer()
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      bar.value = loaded / total
      announceProgress(bar.value)
      say(`${Math.floor((100 * loaded) / total)} % of ${formatBytes(total)}`)
    })
    request.upload.addEventListener('load', () => {
      bar.removeAttribute('value')
      say('Unpacking and publishing …')
      announce('Unpacking and publishing …')
    })
    request.addEventListener('load', () => {
      if (request.status < 300) location.assign(request.responseURL)
      else say(problemIn(request), true)
    })
    for (const name of ['error', 'timeout'])
      request.addEventListener(name, () => say('The connection broke. Nothing was published; try again.', true))
    say('Starting …')
    bar.value = 0
    request.open('POST', form.action)
    request.send(new FormData(form))
  })
}

/** Extracts the error message from the page that a browser without this script would show. */
function problemIn({ responseText, status }: XMLHttpRequest): string {
  const page = new DOMParser().parseFromString(responseText, 'text/html')
  const notice = page.querySelector('#upload-archive [role="alert"], main .lede')
  return notice?.textContent?.trim() || `The server answered with status ${status}.`
}

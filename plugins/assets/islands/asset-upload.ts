import { announce, progressAnnouncer } from '../../../core/pages/islands/announce.ts'
import { setBusy } from '../../../core/pages/islands/busy-button.ts'

/** Shows the progress of an upload. Without this script the form sends the file as usual. */
const form = document.querySelector<HTMLFormElement>('form#upload-asset')
const bar = form?.querySelector('progress')
const box = form?.querySelector<HTMLElement>('.progress')
const status = form?.querySelector<HTMLElement>('.progress p')
const button = form?.querySelector<HTMLButtonElement>('button:not([type=button])')

if (form && bar && box && status && button) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    setBusy(button, true)
    status.removeAttribute('role')
    const say = progressAnnouncer()
    box.hidden = false
    box.classList.remove('wrong')
    // fetch reports no upload progress.
    const request = new XMLHttpRequest()
    request.open('POST', form.action)
    request.setRequestHeader('accept', 'application/json')
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      bar.value = loaded / total
      say(bar.value)
      if (loaded === total) announce('Checking the file…')
      status.textContent = loaded === total ? 'Checking the file…' : `${Math.round((100 * loaded) / total)} %`
    })
    const fail = (message: string) => {
      box.classList.add('wrong')
      status.setAttribute('role', 'alert')
      status.textContent = message
      setBusy(button, false)
    }
    request.addEventListener('error', () => fail('The connection broke; try again.'))
    request.addEventListener('load', () => {
      if (request.status === 201) location.assign(request.response.page)
      else fail(request.response?.error?.message ?? 'The upload was refused.')
    })
    request.send(new FormData(form))
  })
}

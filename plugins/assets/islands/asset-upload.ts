/** Shows the progress of an upload. Without this script the form sends the file as usual. */
const form = document.querySelector<HTMLFormElement>('form#upload-asset')
const bar = form?.querySelector('progress')
const box = form?.querySelector<HTMLElement>('.progress')
const status = form?.querySelector<HTMLElement>('[role=status]')
const button = form?.querySelector<HTMLButtonElement>('button:not([type=button])')

if (form && bar && box && status && button) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    button.disabled = true
    box.hidden = false
    box.classList.remove('wrong')
    // fetch reports no upload progress.
    const request = new XMLHttpRequest()
    request.open('POST', form.action)
    request.setRequestHeader('accept', 'application/json')
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      bar.value = loaded / total
      status.textContent = loaded === total ? 'Checking the file…' : `${Math.round((100 * loaded) / total)} %`
    })
    const fail = (message: string) => {
      box.classList.add('wrong')
      status.textContent = message
      button.disabled = false
    }
    request.addEventListener('error', () => fail('The connection broke; try again.'))
    request.addEventListener('load', () => {
      if (request.status === 201) location.assign(request.response.page)
      else fail(request.response?.error?.message ?? 'The upload was refused.')
    })
    request.send(new FormData(form))
  })
}

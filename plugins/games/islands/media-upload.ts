import { progressAnnouncer } from '../../../core/pages/islands/announce.ts'
import { setBusy } from '../../../core/pages/islands/busy-button.ts'

/**
 * Uploads several dropped or chosen files in sequence, with progress. Without this script the form uploads one at a
 * time.
 */
const form = document.querySelector<HTMLFormElement>('form[data-upload]')
const input = form?.querySelector<HTMLInputElement>('input[type=file]')
const bar = form?.querySelector('progress')
const problem = form?.querySelector<HTMLElement>('[role=alert]')
const button = form?.querySelector('button')

if (form && input && bar && problem && button) {
  input.multiple = true

  const uploadAll = async (files: File[]) => {
    setBusy(button, true)
    const say = progressAnnouncer()
    problem.hidden = true
    bar.hidden = false
    try {
      for (const [index, file] of files.entries()) {
        await upload(file, (part) => {
          bar.value = (index + part) / files.length
          say(bar.value)
        })
      }
      // The browser does not reload for an address that differs only in its fragment.
      if (location.search === '?saved') location.reload()
      else location.assign(`${location.pathname}?saved#media`)
    } catch (error) {
      problem.textContent = (error as Error).message
      problem.hidden = false
      bar.hidden = true
      setBusy(button, false)
    }
  }

  const upload = (file: File, progress: (part: number) => void) =>
    new Promise<void>((resolve, reject) => {
      const body = new FormData()
      body.append('file', file)
      // fetch reports no upload progress.
      const request = new XMLHttpRequest()
      request.open('POST', form.dataset.upload ?? '')
      request.responseType = 'json'
      request.upload.addEventListener('progress', (event) => {
        if (event.lengthComputable) progress(event.loaded / event.total)
      })
      request.addEventListener('error', () => reject(new Error(`${file.name}: the connection broke; try again.`)))
      request.addEventListener('load', () => {
        if (request.status === 201) resolve()
        else reject(new Error(`${file.name}: ${request.response?.error?.message ?? 'the upload was refused.'}`))
      })
      request.send(body)
    })

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (input.files?.length) void uploadAll([...input.files])
  })
  form.addEventListener('dragover', (event) => {
    event.preventDefault()
    form.classList.add('over')
  })
  form.addEventListener('dragleave', () => form.classList.remove('over'))
  form.addEventListener('drop', (event) => {
    event.preventDefault()
    form.classList.remove('over')
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) void uploadAll(files)
  })
}

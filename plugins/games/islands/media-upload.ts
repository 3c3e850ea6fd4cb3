import { progressAnnouncer } from '../../../core/pages/islands/announce.ts'
import { setBusy } from '../../../core/pages/islands/busy-button.ts'

/**
 * Uploads several dropped or chosen files in sequence, with progress. Without this script the form uploads one at a
 * time.
 */
const box = document.querySelector<HTMLElement>('[data-upload]')
const form = box?.closest('form')
const input = box?.querySelector<HTMLInputElement>('input[type=file]')
const bar = box?.querySelector('progress')
const problem = box?.querySelector<HTMLElement>('p[role=alert]')
const button = box?.querySelector('button')

if (box && form && input && bar && problem && button) {
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
      request.open('POST', box.dataset.upload ?? '')
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
  box.addEventListener('dragover', (event) => {
    event.preventDefault()
    box.classList.add('over')
  })
  box.addEventListener('dragleave', () => box.classList.remove('over'))
  box.addEventListener('drop', (event) => {
    event.preventDefault()
    box.classList.remove('over')
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) void uploadAll(files)
  })
}

import { setBusy } from '../../../core/pages/islands/busy-button.ts'

/**
 * Crops and shrinks a photograph before the upload, because photographs from phones exceed the server's limit. Without
 * this script the form sends the file unchanged, and the server reports its limits.
 */
const SIDE = 512

const form = document.querySelector<HTMLFormElement>('form#picture')
const input = form?.querySelector<HTMLInputElement>('input[type=file]')
const button = form?.querySelector<HTMLButtonElement>('button')

input?.addEventListener('change', async () => {
  const [file] = input.files ?? []
  if (!file || !button) return
  setBusy(button, true)
  try {
    input.files = await reduced(file)
  } catch {
    // The browser can't decode the picture; the server then reports the error.
  } finally {
    setBusy(button, false)
  }
})

async function reduced(file: File): Promise<FileList> {
  const bitmap = await createImageBitmap(file)
  const crop = Math.min(bitmap.width, bitmap.height)
  const side = Math.min(SIDE, crop)
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = side
  const [left, top] = [(bitmap.width - crop) / 2, (bitmap.height - crop) / 2]
  canvas.getContext('2d')?.drawImage(bitmap, left, top, crop, crop, 0, 0, side, side)
  const type = file.type === 'image/jpeg' ? 'image/jpeg' : 'image/png'
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, type, 0.9))
  if (!blob) throw new Error('no picture')
  const transfer = new DataTransfer()
  transfer.items.add(new File([blob], 'picture', { type }))
  return transfer.files
}

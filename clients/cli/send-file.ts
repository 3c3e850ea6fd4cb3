import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Api } from './api.ts'
import { fileReason, usageError } from './errors.ts'
import { multipart } from './multipart.ts'
import { ProgressBar } from './progress.ts'
import type { Terminal } from './terminal.ts'

/** A slow platform may take so long to check a file that has arrived. */
const IDLE_MS = 300_000

/** A file of this disk that is sent. */
export interface FileToSend {
  file: string
  name: string
  /** The size in bytes. */
  size: number
}

/**
 * Looks at a file before anything is sent.
 *
 * @param advice for somebody who names a folder
 * @throws CliError a usage error for what is no readable file
 */
export async function fileToSend(file: string, advice?: string): Promise<FileToSend> {
  const found = await stat(file).catch((error) => {
    throw usageError(`${file} can't be uploaded: ${fileReason(error)}.`)
  })
  if (!found.isFile()) throw usageError(`${file} is no file.`, advice)
  return { file, name: basename(file), size: found.size }
}

/**
 * Sends a file as the field `file` of a form, with a progress bar on a terminal.
 *
 * @param to.path of the route; `origin` as for `Api.post`
 * @param to.fields the other fields of the form
 */
export async function sendFile<Answer>(
  { api, terminal, env }: { api: Api; terminal: Terminal; env: NodeJS.ProcessEnv },
  sent: FileToSend,
  { path, origin, fields = {} }: { path: string; origin?: string; fields?: Record<string, string | undefined> },
): Promise<Answer> {
  const bar = new ProgressBar(terminal, env)
  const form = multipart(fields, { field: 'file', ...sent }, (bytes) => bar.advance(bytes))
  const headers = { 'content-type': form.contentType }
  bar.start(`Uploading ${sent.name}`, sent.size)
  try {
    return await api.post<Answer>(path, form.body, {
      ...(origin === undefined ? {} : { origin }),
      headers,
      idleMs: IDLE_MS,
    })
  } finally {
    bar.clear()
  }
}

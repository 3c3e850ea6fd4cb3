import type { UploadFields } from '../schemas.ts'

/** A title for an upload that came without one: the name of its file. */
export const titleOf = ({ title }: UploadFields, name: string): string =>
  title ??
  (name
    .replace(/\.[^.]*$/, '')
    .replace(/[_-]+/g, ' ')
    .trim()
    .slice(0, 120) ||
    'Untitled')

import type { UploadFields } from '../schemas.ts'

/** Returns the title of an upload; by default the name of its file. */
export const titleOf = ({ title }: UploadFields, name: string): string =>
  title ??
  (name
    .replace(/\.[^.]*$/, '')
    .replace(/[_-]+/g, ' ')
    .trim()
    .slice(0, 120) ||
    'Untitled')

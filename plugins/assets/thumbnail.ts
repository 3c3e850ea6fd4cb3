import { createHash } from 'node:crypto'
import type { AssetRecord } from './record.ts'

/** The icon of a kind while there is no picture: paths in a square of 64. */
const SHAPES: Record<AssetRecord['kind'], string> = {
  model: 'M32 10 52 21v22L32 54 12 43V21zM12 21l20 11 20-11M32 32v22',
  pack: 'M10 22h44v30H10zM10 22l6-10h32l6 10M24 22v10h16V22',
  image: 'M10 14h44v36H10zM10 44l14-14 10 10 8-8 12 12M42 24a4 4 0 1 0 .1 0',
  audio: 'M24 44V16l24-5v28M24 44a6 6 0 1 1-6-6 6 6 0 0 1 6 6M48 39a6 6 0 1 1-6-6 6 6 0 0 1 6 6',
  animation: 'M36 12a4 4 0 1 0 .1 0M34 22l-8 12 8 6-4 14M26 34H14M34 26l10 6 8-4M34 40l10 12',
}

/** Draws an asset's placeholder: the icon of its kind on a background whose colour is constant for an id. */
export function drawnThumbnail({ id, kind }: Pick<AssetRecord, 'id' | 'kind'>): string {
  const hue = createHash('sha256').update(id).digest().readUInt16BE() % 360
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 384" width="512" height="384"><rect width="512" height="384" fill="hsl(${hue} 32% 88%)"/><path transform="translate(96 32) scale(5)" d="${SHAPES[kind]}" fill="none" stroke="hsl(${hue} 38% 32%)" stroke-width="1.6" stroke-linejoin="round" stroke-linecap="round"/></svg>`
}

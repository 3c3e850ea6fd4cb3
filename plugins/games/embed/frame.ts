import { escapeXml } from '../../../core/pages/sitemap.ts'
import type { Game } from '../schemas.ts'

/** What the page of somebody else lets a game do. Camera and microphone stay with the game's own page. */
const ALLOW = [
  'autoplay',
  'fullscreen',
  'gamepad',
  'keyboard-map',
  'clipboard-write',
  'screen-wake-lock',
  'accelerometer',
  'gyroscope',
].join('; ')

/** The size of the frame, in CSS pixels. */
const LANDSCAPE = { width: 960, height: 540 }
const PORTRAIT = { width: 405, height: 720 }

export interface EmbeddedFrame {
  html: string
  /** In CSS pixels. */
  width: number
  height: number
}

/**
 * Whether a page of somebody else can show the game. One that is hosted elsewhere decides itself who may frame it, and a
 * cross-origin isolated one needs an isolated page around it.
 */
export const isEmbeddable = ({ hosted, isolated }: Game): boolean => hosted && !isolated

/**
 * Returns the frame with which a page of somebody else shows a game, in HTML.
 *
 * @param most its largest size in CSS pixels
 */
export function frameOf(
  { title, url, features }: Game,
  most: { width?: number | undefined; height?: number | undefined } = {},
): EmbeddedFrame {
  const usual = features.orientation === 'portrait' ? PORTRAIT : LANDSCAPE
  const scale = Math.min(1, (most.width ?? usual.width) / usual.width, (most.height ?? usual.height) / usual.height)
  const width = Math.max(1, Math.floor(usual.width * scale))
  const height = Math.max(1, Math.floor(usual.height * scale))
  const html = `<iframe src="${escapeXml(url)}" title="${escapeXml(title)}" width="${width}" height="${height}" style="border: 0" allow="${ALLOW}" allowfullscreen loading="lazy"></iframe>`
  return { html, width, height }
}

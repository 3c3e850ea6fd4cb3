import type { Canvas, CanvasKit, TypefaceFontProvider } from 'canvaskit-wasm'
import { drawSvg } from '../../../core/pages/covers/svg-canvas.ts'
import { CARD, type CardTask } from './worker-messages.ts'

/** The colours of the light theme. */
const PAPER = '#faf7f1'
const INK = '#1d1b16'
const SOFT = '#5e584c'
const MARK = `<svg><path d="M3.5 28.5V14.8L16 4l12.5 10.8v13.7" fill="none" stroke="${INK}" stroke-width="2.8" stroke-linecap="round" stroke-linejoin="round"/><circle cx="16" cy="21" r="5.4" fill="#c2410c"/></svg>`

const MARGIN = 56
/** The left edge of the picture, next to the text. */
const SPLIT = 500
const TITLE = { sizes: [78, 66, 56, 48, 42], top: 150, bottom: 500, lines: 7 }

/** The tools of a drawing: a kit, and fonts registered as `display` and `text`. */
export interface Studio {
  kit: CanvasKit
  fonts: TypefaceFontProvider
}

/**
 * Draws a preview card as PNG: the text on the left, the picture on the right. When the fonts lack the script of a
 * title, the picture fills the card, because the application that shows the link displays the title beside it.
 */
export function drawCard(studio: Studio, task: CardTask): Uint8Array {
  const { kit } = studio
  const surface = kit.MakeSurface(CARD.width, CARD.height)
  if (!surface) throw new Error('no memory for a card')
  try {
    const canvas = surface.getCanvas()
    canvas.clear(kit.parseColorString(PAPER))
    const title = fitTitle(studio, task.title)
    drawPicture(studio, canvas, task, title ? SPLIT : 0)
    if (title) {
      canvas.save()
      canvas.translate(MARGIN, MARGIN - 6)
      canvas.scale(1.35, 1.35)
      drawSvg(kit, canvas, MARK)
      canvas.restore()
      write(studio, canvas, task.site, {
        x: MARGIN + 58,
        y: MARGIN,
        size: 28,
        weight: 700,
        width: 330,
        font: 'display',
      })
      canvas.drawParagraph(title, MARGIN, TITLE.top)
      title.delete()
      write(studio, canvas, task.address, { x: MARGIN, y: 544, size: 24, weight: 500, width: 390, font: 'text' })
    }
    const image = surface.makeImageSnapshot()
    const png = image.encodeToBytes()
    image.delete()
    if (!png) throw new Error('the card could not be encoded')
    return png
  } finally {
    surface.delete()
  }
}

interface Words {
  size: number
  weight: number
  font: 'display' | 'text'
  colour: string
  width: number
  lines: number
}

function paragraph({ kit, fonts }: Studio, text: string, words: Words) {
  const { size, weight, font, colour, width, lines } = words
  const style = new kit.ParagraphStyle({
    maxLines: lines,
    ellipsis: '…',
    textStyle: {
      color: kit.parseColorString(colour),
      fontFamilies: [font, `${font}-ext`],
      fontSize: size,
      fontVariations: [{ axis: 'wght', value: weight }],
      letterSpacing: size * -0.02,
      heightMultiplier: 1.06,
    },
  })
  const builder = kit.ParagraphBuilder.MakeFromFontProvider(style, fonts)
  builder.addText(text)
  const built = builder.build()
  builder.delete()
  built.layout(width)
  return built
}

/** Sets the title in the largest size that fits; null when the fonts lack its script. */
function fitTitle(studio: Studio, text: string) {
  for (const size of TITLE.sizes) {
    const smallest = size === TITLE.sizes.at(-1)
    const built = paragraph(studio, text, {
      size,
      weight: 750,
      font: 'display' as const,
      colour: INK,
      width: SPLIT - MARGIN - 32,
      lines: TITLE.lines,
    })
    if (built.unresolvedCodepoints().length > 0) {
      built.delete()
      return null
    }
    // A long word that does not fit is broken only at the smallest size.
    const fits =
      built.getHeight() <= TITLE.bottom - TITLE.top &&
      built.getLongestLine() <= SPLIT - MARGIN - 32 &&
      !breaksWord(text, built)
    if (fits || smallest) return built
    built.delete()
  }
  return null
}

/** Whether a line ends within a word. */
function breaksWord(text: string, built: ReturnType<typeof paragraph>): boolean {
  return built
    .getLineMetrics()
    .some(
      ({ endIndex }, index, lines) => index < lines.length - 1 && !/\s|-/.test(text.slice(endIndex - 1, endIndex + 1)),
    )
}

function write(
  studio: Studio,
  canvas: Canvas,
  text: string,
  { x, y, ...words }: { x: number; y: number; size: number; weight: number; width: number; font: Words['font'] },
): void {
  const built = paragraph(studio, text, { ...words, colour: words.font === 'display' ? INK : SOFT, lines: 1 })
  if (built.unresolvedCodepoints().length === 0) canvas.drawParagraph(built, x, y)
  built.delete()
}

/**
 * Fills the right side, from `left` on, with the picture, or with the drawing if the picture is missing or unreadable.
 */
function drawPicture({ kit }: Studio, canvas: Canvas, { picture, drawing }: CardTask, left: number): void {
  const width = CARD.width - left
  const box = kit.XYWHRect(left, 0, width, CARD.height)
  canvas.save()
  canvas.clipRect(box, kit.ClipOp.Intersect, true)
  const image = picture && kit.MakeImageFromEncoded(picture)
  if (image) {
    const scale = Math.max(width / image.width(), CARD.height / image.height())
    const [w, h] = [width / scale, CARD.height / scale]
    const part = kit.XYWHRect((image.width() - w) / 2, (image.height() - h) / 2, w, h)
    const paint = new kit.Paint()
    canvas.drawImageRectOptions(image, part, box, kit.FilterMode.Linear, kit.MipmapMode.Linear, paint)
    paint.delete()
    image.delete()
  } else {
    const scale = Math.max(width / 160, CARD.height / 120)
    canvas.translate(left + (width - 160 * scale) / 2, (CARD.height - 120 * scale) / 2)
    canvas.scale(scale, scale)
    drawSvg(kit, canvas, drawing)
  }
  canvas.restore()
}

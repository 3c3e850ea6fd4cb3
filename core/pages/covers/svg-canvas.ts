import type { Canvas, CanvasKit, Paint } from 'canvaskit-wasm'

interface Shape {
  name: string
  attributes: Record<string, string>
  children: Shape[]
}

/**
 * Paints one of the platform's own drawings (a cover, the mark) on a canvas of CanvasKit, in the units of its
 * `viewBox`. It supports rectangles, circles, paths and groups, with fill, stroke, opacity and transforms. It is not a
 * general SVG renderer.
 */
export function drawSvg(kit: CanvasKit, canvas: Canvas, svg: string): void {
  for (const shape of parse(svg)) draw(kit, canvas, shape)
}

function parse(svg: string): Shape[] {
  const root: Shape = { name: '', attributes: {}, children: [] }
  const open = [root]
  for (const [, end, name = '', text = '', alone] of svg.matchAll(
    /<(\/?)([a-z]+)((?:\s+[\w:-]+(?:="[^"]*")?)*)\s*(\/?)>/gi,
  )) {
    if (end) {
      open.pop()
      continue
    }
    const attributes = Object.fromEntries(
      [...text.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
    )
    const shape: Shape = { name, attributes, children: [] }
    open.at(-1)?.children.push(shape)
    if (!alone) open.push(shape)
  }
  return root.children
}

function draw(kit: CanvasKit, canvas: Canvas, shape: Shape): void {
  const { name, attributes, children } = shape
  canvas.save()
  transform(canvas, attributes.transform ?? '')
  const { fill = 'black', stroke } = attributes
  if (fill !== 'none') paintShape(kit, canvas, shape, fill, () => {})
  if (stroke && stroke !== 'none') {
    paintShape(kit, canvas, shape, stroke, (paint) => {
      paint.setStyle(kit.PaintStyle.Stroke)
      paint.setStrokeWidth(Number(attributes['stroke-width'] ?? 1))
      if (attributes['stroke-linecap'] === 'round') paint.setStrokeCap(kit.StrokeCap.Round)
      if (attributes['stroke-linejoin'] === 'round') paint.setStrokeJoin(kit.StrokeJoin.Round)
      const dashes = attributes['stroke-dasharray']?.split(/[ ,]+/).map(Number)
      if (dashes) paint.setPathEffect(kit.PathEffect.MakeDash(dashes))
    })
  }
  if (name !== 'title') for (const child of children) draw(kit, canvas, child)
  canvas.restore()
}

function paintShape(
  kit: CanvasKit,
  canvas: Canvas,
  { name, attributes }: Shape,
  colour: string,
  prepare: (paint: Paint) => void,
): void {
  const number = (key: string) => Number(attributes[key] ?? 0)
  const paint = new kit.Paint()
  paint.setAntiAlias(true)
  paint.setColor(kit.parseColorString(colour))
  paint.setAlphaf(Number(attributes.opacity ?? 1))
  prepare(paint)
  if (name === 'circle') canvas.drawCircle(number('cx'), number('cy'), number('r'), paint)
  if (name === 'rect') {
    const box = kit.XYWHRect(number('x'), number('y'), number('width'), number('height'))
    canvas.drawRRect(kit.RRectXY(box, number('rx'), number('rx')), paint)
  }
  const path = name === 'path' && attributes.d ? kit.Path.MakeFromSVGString(attributes.d) : null
  if (path) {
    canvas.drawPath(path, paint)
    path.delete()
  }
  paint.delete()
}

function transform(canvas: Canvas, text: string): void {
  for (const [, kind, list = ''] of text.matchAll(/(translate|rotate|scale)\(([^)]*)\)/g)) {
    const [a = 0, b, c = 0] = list.split(/[ ,]+/).map(Number)
    if (kind === 'translate') canvas.translate(a, b ?? 0)
    if (kind === 'scale') canvas.scale(a, b ?? a)
    if (kind === 'rotate') canvas.rotate(a, b ?? 0, c)
  }
}

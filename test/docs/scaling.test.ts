// Checks that docs/scaling.md agrees with bench/RESULTS.md: after new measurements the guide must change too.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { guideText } from './blocks.ts'

const results = readFileSync(join(import.meta.dirname, '../../bench/RESULTS.md'), 'utf8')
const guide = guideText('scaling')

/** Returns the tables of a text. Each row is a record with the column headings as keys. */
function tablesOf(markdown: string): Record<string, string>[][] {
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  return [...markdown.matchAll(/(?:^\|.*\|\n)+/gm)].map(([block]) => {
    const [head = '', _rule, ...rows] = block.trim().split('\n')
    const names = cells(head)
    return rows.map((row) => Object.fromEntries(cells(row).map((cell, index) => [names[index], cell])))
  })
}

/** Returns the first number of a cell, which may have digit grouping or bold type. */
const numberIn = (cell = ''): number => Number(/[\d.]+/.exec(cell.replace(/[,*]/g, ''))?.[0])

const median = (numbers: number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
}

/** `Section › row › … › column`, or `Section › column` for the median of all its rows. */
function measured(source: string): number {
  const [section = '', ...words] = source.split(' › ')
  const column = words.pop() as string
  const text = results.split(/^## /m).find((part) => part.startsWith(`${section} (`))
  if (!text) throw new Error(`There is no section ${section}.`)
  const table = tablesOf(text).find(([first]) => first && column in first)
  const rows = (table ?? []).filter((row) => words.every((word) => Object.values(row).includes(word)))
  if (rows.length === 0 || (words.length > 0 && rows.length > 1)) throw new Error(`${source}: ${rows.length} rows`)
  return median(rows.map((row) => numberIn(row[column])))
}

const SOURCE = 'In `bench/RESULTS.md`'
const figures = tablesOf(guide).flatMap((table) => table.filter((row) => SOURCE in row))
const figureOf = (what: string) => numberIn(figures.find((row) => row.What?.startsWith(what))?.Figure)
const rounded = (number: number) => Number(number.toPrecision(2))

t.test('every figure is that of the last run, to two digits', (t) => {
  t.ok(figures.length >= 8)
  for (const { Figure, [SOURCE]: source = '', ...names } of figures) {
    const [What] = Object.values(names)
    if (source.startsWith('a calculation')) continue
    t.equal(numberIn(Figure), rounded(measured(source)), `${What}: ${source}`)
  }
  t.end()
})

t.test('the calculation follows from the figures', (t) => {
  const rows = tablesOf(guide).find(([first]) => first && 'Cores' in first) ?? []
  const CORES: [row: string, load: number, what: string][] = [
    ['Files', (100_000 * 60) / 3600, 'Files of games, 2 KB'],
    ['API', (100_000 * 20) / 3600, 'API calls'],
    ['Codes exchanged', 100_000 / 3600, 'OAuth codes'],
    ['Room messages', ((100_000 * 10) / 60) * 20 * 7, 'Room messages delivered, 50 rooms'],
  ]
  for (const [name, load, what] of CORES) {
    const cores = load / figureOf(what)
    const said = cores < 0.1 ? '< 0.1' : String(rounded(cores))
    t.equal(
      rows.find((row) => row['In the busiest hour'] === name)?.Cores,
      said,
      `${name}: ${load} of ${figureOf(what)}`,
    )
  }
  t.end()
})

t.test('the table of more cores follows from the figures', (t) => {
  const rows = tablesOf(guide).find(([first]) => first && '16 cores' in first) ?? []
  t.equal(rows.length, 5)
  const two = tablesOf(guide).flatMap((table) => table.filter((row) => 'Two processes, of one' in row))
  for (const { 'A second, by calculation': what = '', r, ...cells } of rows) {
    const ratio = numberIn(r)
    const measured = two.find((row) => what.startsWith(row['Two processes, of one'] as string))
    if (measured) t.equal(ratio, numberIn(measured.Figure), `${what}: ${r} is measured`)
    else t.ok([1, 2].includes(ratio), `${what}: ${r} is no loss or no gain`)
    const one = figureOf(what.slice(0, 12))
    for (const [column, cell] of Object.entries(cells)) {
      const times = 1 + (numberIn(column) - 1) * (ratio - 1)
      t.equal(numberIn(cell), rounded(one * times), `${what}, ${column}`)
    }
  }
  t.end()
})

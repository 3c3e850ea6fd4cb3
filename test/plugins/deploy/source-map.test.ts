import { transform } from 'esbuild'
import t from 'tap'
import type { Place } from '../../../plugins/deploy/source-maps/places.ts'
import { locateInSources, splitSourceMap } from '../../../plugins/deploy/source-maps/source-map.ts'
import { startPlatform } from '../../kit/platform.ts'
import { type Build, filesOf, upload } from './build.ts'

const SOURCE = `// The rules.
type Data = { x: number }

export const settings = { tick: 5 }
export function message(room: unknown, player: unknown, type: string, data: Data) {
  throw new Error('no such move')
}
`

const bundle = async (): Promise<string> =>
  (await transform(SOURCE, { loader: 'ts', sourcemap: 'inline', sourcefile: 'src/room.ts' })).code

const base64 = (map: unknown): string =>
  Buffer.from(typeof map === 'string' ? map : JSON.stringify(map)).toString('base64')
const locateIn = (map: unknown, places: Place[]) => locateInSources({ base64: base64(map) }, places)

/** Returns the place of a text in another. */
function placeOf(text: string, part: string) {
  const before = text.slice(0, text.indexOf(part)).split('\n')
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 }
}

t.test('a place of a bundle is found in its source, with the lines around it', async (t) => {
  const { source, sourceMap } = splitSourceMap(await bundle())
  t.notMatch(source, /sourceMappingURL|type Data/)
  const [found, outside] = locateInSources({ base64: sourceMap ?? '' }, [
    placeOf(source, 'new Error'),
    { line: 999, column: 1 },
  ])
  t.same(found, {
    path: 'src/room.ts',
    ...placeOf(SOURCE, 'new Error'),
    excerpt: { from: 3, lines: SOURCE.trimEnd().split('\n').slice(2) },
  })
  t.equal(outside, null)
})

t.test('a source map is separated from its script, in the forms of all bundlers', (t) => {
  const code = 'export const open = 1\n'
  const comment = (type: string, map = 'e30=') => `//# sourceMappingURL=data:application/json;${type}base64,${map}`
  for (const type of ['', 'charset=utf-8;'])
    for (const end of ['', '\n', '\r\n\n'])
      t.same(splitSourceMap(`${code}${comment(type)}${end}`), { source: code, sourceMap: 'e30=' }, type)
  for (const text of [
    code,
    `${code}//# sourceMappingURL=room.js.map\n`,
    `${code}${comment('')}\nopen()\n`,
    `${code}${comment('', '{}')}`,
    `${code}//# sourceMappingURL=data:application/json;{}`,
  ])
    t.same(splitSourceMap(text), { source: text, sourceMap: null }, text)
  t.end()
})

t.test('a map that is none names no place', (t) => {
  const whole = { version: 3, sources: ['a.ts'], sourcesContent: ['a'], names: [], mappings: 'AAAA' }
  const place = [{ line: 1, column: 1 }]
  t.match(locateIn(whole, place), [{ path: 'a.ts', line: 1, column: 1 }])
  for (const map of [
    '',
    'null',
    '[]',
    '{',
    {},
    { ...whole, version: 2 },
    { ...whole, sources: 'a.ts' },
    { ...whole, sources: [7] },
    { ...whole, sources: [] },
    { ...whole, mappings: 7 },
    { ...whole, mappings: '' },
    { ...whole, mappings: ';AAAA' },
    { version: 3, sections: [{ offset: { line: 0, column: 0 }, map: whole }] },
  ])
    t.same(locateIn(map, place), [null], JSON.stringify(map))
  for (const mappings of ['!!!!', 'A', 'AA', '\0', 'gggggggggggggggggggggggg', ';'.repeat(1000), 'AAAA,'.repeat(1000)])
    t.doesNotThrow(() => locateIn({ ...whole, mappings }, place), mappings.slice(0, 20))
  for (const sourcesContent of [undefined, null, 'a', [null], [7], ['']])
    t.match(locateIn({ ...whole, sourcesContent }, place), [{ path: 'a.ts' }], String(sourcesContent))
  t.match(locateIn({ ...whole, sources: ['__proto__'] }, place), [{ path: '__proto__' }])
  const [long] = locateIn({ ...whole, sources: ['a'.repeat(5000)] }, place)
  t.equal(long?.path.length, 200)
  t.end()
})

t.test('the places of a deployed script are found, and stay in memory', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { roomScripts } = platform.app.deploys
  const deploy = async (script: string) => {
    const files: Build = { 'index.html': '<title>Pong</title>', 'room.js': script }
    const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files), room: 'room.js' })
    for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
    const { deployId } = begun.body
    const { status, text } = await program.post(`/api/deploy/${deployId}/finalize`)
    t.equal(status, 200, text)
    return deployId as string
  }
  const bundled = await bundle()
  const thrown = placeOf(bundled, 'new Error')
  const own = { line: 1, column: 1 }
  const places = [thrown, own, thrown]
  const deployId = await deploy(bundled)
  const { source } = (await roomScripts.load(game.id, { from: 'live' })) ?? {}
  t.ok(source && bundled.startsWith(source) && !source.includes('sourceMapping'), 'rooms do not get the map')
  const found = await roomScripts.locate(game.id, deployId, places)
  t.match(found, [{ path: 'src/room.ts', line: 6 }, { path: String }, { path: 'src/room.ts', line: 6 }])
  t.same(await roomScripts.locate(game.id, deployId, places), found, 'again')

  const plain = await deploy(`${SOURCE.replaceAll(/: (?:unknown|string|Data)\b|type Data.*/g, '')}`)
  t.match(
    await roomScripts.locate(game.id, plain, [{ line: 6, column: 3 }]),
    [{ path: 'room.js', line: 6, column: 3, excerpt: { from: 3, lines: { 3: /no such move/ } } }],
    'a script without a map is its own source',
  )
  t.same(await roomScripts.locate(game.id, 'dep_00000000000000000000000000', places), [null, null, null])
  const other = await platform.game(await platform.signUp(), { title: 'Other' })
  t.same(await roomScripts.locate(other.id, deployId, [thrown]), [null], 'of another game')

  // Of all maps that a script has room for, one of short segments takes longest to read.
  const hostile = base64({ version: 3, sources: ['a.ts'], names: [], mappings: 'A,'.repeat(380_000) })
  const slow = await deploy(`${source}//# sourceMappingURL=data:application/json;base64,${hostile}`)
  const [[at], health] = await Promise.all([
    roomScripts.locate(game.id, slow, [thrown]),
    platform.stranger.get('/healthz'),
  ])
  t.match(at, { path: 'room.js', ...thrown }, 'where a map names no source, the script is the source')
  t.equal(health.status, 200)
})

// In a process of its own: its long form measures the processor time of this one.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { DeployRow } from '../../../plugins/deploy/entities.ts'
import { hasPrograms } from '../../kit/components.ts'
import { inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { processorLimit } from '../../kit/time-limit.ts'
import { build, liveBuild } from './build.ts'
import { type ZipEntry, zip, zipOf } from './zip-writer.ts'

async function withGame(t: Test, config = {}) {
  const platform = await startPlatform(t, { config })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const publish = (archive: Buffer, message = '', client = player, room = '', filename = 'build.zip') => {
    const boundary = 'x'.repeat(30)
    const part = (head: string, body: Buffer | string) =>
      Buffer.concat([Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), Buffer.from(body), Buffer.from('\r\n')])
    const body = Buffer.concat([
      part('Content-Disposition: form-data; name="message"', message),
      part('Content-Disposition: form-data; name="room"', room),
      part(
        `Content-Disposition: form-data; name="archive"; filename="${filename}"\r\nContent-Type: application/zip`,
        archive,
      ),
      Buffer.from(`--${boundary}--\r\n`),
    ])
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    return client.post(`/games/${game.slug}/deploys`, body, { headers })
  }
  const spooled = () => readdir(join(platform.app.config.dataDir, 'archives'))
  return { platform, player, game, publish, spooled }
}

const index: ZipEntry = { name: 'index.html', bytes: '<h1>hi</h1>' }

t.test('an archive is published as a plain form sends it', async (t) => {
  const { platform, player, game, publish, spooled } = await withGame(t)
  const page = await player.get('/games/pong/deploys')
  t.match(page.text, /<form[^>]+action="\/games\/pong\/deploys" method="post"[^>]+enctype="multipart\/form-data"/)
  const files = {
    ...build('zipped', 20),
    'deep/er/ü.txt': 'deep',
    'empty.txt': '',
    'copy.txt': 'same',
    'copy2.txt': 'same',
  }
  const answer = await publish(zipOf(files), ' First <one> ')
  t.match(answer, { status: 303, headers: { location: /^\/games\/pong\/deploys\?published=0$/ } })
  t.same(await liveBuild(platform, game.id), files)
  t.match((await player.get('/games/pong/deploys?published=0')).text, /First &lt;one>[\s\S]*live/)
  t.same(await spooled(), [])

  platform.clock.advance(1000)
  const changed = { ...files, 'index.html': 'two' }
  t.equal((await publish(zipOf(changed))).status, 303)
  t.same(await liveBuild(platform, game.id), changed)
  const { deploys } = await platform.app.deploys.list(player.id, game.id, { limit: 5 })
  t.match(deploys, [
    { state: 'live', message: null, unchanged: Object.keys(files).length - 1 },
    { state: 'superseded', message: 'First <one>' },
  ])
})

t.test(
  'a folder in the archive may hold the build; secrets, histories, litter and listed files stay out',
  async (t) => {
    const { platform, player, game, publish } = await withGame(t)
    const answer = await publish(
      zipOf({
        'My Game/': '',
        'My Game/index.html': '<script src="js/A.js"></script>',
        'My Game/js/': '',
        'My Game/js/a.js': 'a',
        'My Game/.well-known/a.json': '{}',
        'My Game/.env': 'SECRET=1',
        'My Game/.git/config': 'x',
        'My Game/node_modules/left-pad/index.js': 'x',
        'My Game/.gameyardignore': '# ours\n*.psd\n/docs/\n',
        'My Game/art/cover.psd': 'x',
        'My Game/docs/a.md': 'x',
        'My Game/js/docs/kept.md': 'x',
        '__MACOSX/My Game/._index.html': 'x',
        'My Game/.DS_Store': 'x',
      }),
    )
    t.match(answer, { status: 303, headers: { location: /^\/games\/pong\/deploys\?published=8&unwrapped$/ } })
    t.same(Object.keys(await liveBuild(platform, game.id)).sort(), [
      '.well-known/a.json',
      'index.html',
      'js/a.js',
      'js/docs/kept.md',
    ])
    const { text } = await player.get('/games/pong/deploys?published=8&unwrapped')
    t.match(text, /Your build is live\. The archive has one folder; its content is published\. 8 files were left out/)
    t.match(text, /One thing may not work: see the warnings below\./)
    t.match(text, /<summary>One warning<\/summary>[\s\S]*index\.html asks for js\/A\.js, but the file is js\/a\.js\./)
  },
)

t.test('an archive names its room script, which is not served', async (t) => {
  const { platform, player, game, publish } = await withGame(t)
  const script = 'export function join() {}'
  const files = { 'index.html': 'hi', 'server/room.js': script }
  const host = platform.gameHost(game.slug)
  const live = async () => {
    const loaded = await platform.app.deploys.roomScripts.load(game.id, { from: 'live' })
    return loaded && [loaded.path, (await player.get(`/${loaded.path}`, { host })).status]
  }
  const named = (project: string) => publish(zipOf({ ...files, 'gameyard.json': project }))
  t.equal((await publish(zipOf(files))).status, 303)
  t.equal(await live(), null, 'a file that nobody names is a file')
  t.equal((await named('{ "gameId": "x", "room": "./server/room.js" }')).status, 303)
  t.same(await live(), ['server/room.js', 404], 'gameyard.json names it')
  t.match((await player.get('/games/pong/deploys')).text, /room script <code>server\/room\.js/)
  t.equal((await publish(zipOf(files))).status, 303)
  t.same(await live(), ['server/room.js', 404], 'as the build before did, while the file is there')
  t.equal((await publish(zipOf({ 'index.html': 'hi' }))).status, 303)
  t.equal(await live(), null)
  t.equal((await publish(zipOf(files), '', player, 'server/room.js')).status, 303)
  t.same(await live(), ['server/room.js', 404], 'the form names it')
  t.equal(
    (
      await publish(
        zipOf({ 'build/index.html': 'hi', 'build/room.js': script, 'build/gameyard.json': '{"room":"room.js"}' }),
      )
    ).status,
    303,
  )
  t.same(await live(), ['room.js', 404], 'also when the folder was zipped')

  const wrong: [string, () => ReturnType<typeof publish>, RegExp][] = [
    ['a path without a file', () => named('{ "room": "absent.js" }'), /absent\.js/],
    ['no path', () => named('{ "room": 7 }'), /room(?:"|&quot;) in gameyard\.json is not a path/],
    ['no JSON', () => named('room = room.js'), /gameyard\.json is not JSON/],
    ['the page', () => publish(zipOf(files), '', player, 'index.html'), /index\.html/],
    ['a large file', () => named(`{"room":"${'x'.repeat(70_000)}"}`), /gameyard\.json is larger than 64 KiB/],
    [
      'one that cannot run',
      () => publish(zipOf({ ...files, 'server/room.js': 'import "./x.js"' }), '', player, 'server/room.js'),
      /server\/room\.js/,
    ],
  ]
  for (const [name, attempt, words] of wrong) {
    const { status, text } = await attempt()
    t.equal(status, 400, name)
    t.match(/role="alert"[\s\S]{0,400}/.exec(text)?.[0], words, name)
  }
  t.same(await live(), ['room.js', 404], 'and nothing of it went live')
})

t.test('names that Macs write decomposed are composed', async (t) => {
  const { platform, game, publish } = await withGame(t)
  t.equal((await publish(zip([index, { name: 'cafe\u0301.txt', bytes: 'x' }]))).status, 303)
  t.same(Object.keys(await liveBuild(platform, game.id)), ['index.html', 'caf\u00e9.txt'])
})

/** An extra field with the name in UTF-8 (APPNOTE.TXT section 4.6.9). */
function unicodePath(stored: string, name: string): Buffer {
  const head = Buffer.alloc(9)
  head.writeUInt16LE(0x7075, 0)
  head.writeUInt16LE(5 + Buffer.byteLength(name), 2)
  head.writeUInt8(1, 4)
  head.writeUInt32LE(crc32(stored), 5)
  return Buffer.concat([head, Buffer.from(name)])
}

t.test(
  'names are UTF-8 with or without the flag, by the extra field, or else a guess that the answer names',
  async (t) => {
    const { platform, player, game, publish } = await withGame(t)
    const names: [name: string, ZipEntry][] = [
      ['flag/café.json', { name: 'flag/café.json' }],
      ['finder/café.json', { name: 'finder/cafe\u0301.json', flags: 0 }],
      ['zip/日本.json', { name: 'zip/日本.json', flags: 0 }],
      [
        'field/café.json',
        { name: 'field/caf_.json', flags: 0, extra: unicodePath('field/caf_.json', 'field/café.json') },
      ],
      ['stale/caf_.json', { name: 'stale/caf_.json', flags: 0, extra: unicodePath('renamed since', 'stale/x.json') }],
      [
        'dos/café.json',
        { name: Buffer.concat([Buffer.from('dos/caf'), Buffer.of(0x82), Buffer.from('.json')]), flags: 0 },
      ],
    ]
    t.equal((await publish(zip([index, ...names.map(([, entry]) => entry)]))).status, 303)
    t.same(
      Object.keys(await liveBuild(platform, game.id)).sort(),
      ['index.html', ...names.map(([name]) => name)].sort(),
    )
    const { text } = await player.get('/games/pong/deploys?published=0')
    t.match(text, /in which encoding these names are, so they may be wrong: dos\/café\.json\./)
  },
)

t.test('archives as PowerShell, tar and ZipFile write them are published', async (t) => {
  const { platform, game, publish } = await withGame(t)
  const expected = ['art/deep/a.png', 'index.html']
  const archives: [name: string, ZipEntry[]][] = [
    ['backslashes', [index, { name: 'art\\' }, { name: 'art\\deep\\a.png', bytes: 'x' }]],
    ['a folder, by backslashes', [{ ...index, name: 'My Game\\index.html' }, { name: 'My Game\\art\\deep\\a.png' }]],
    ['the packed folder itself', [{ name: './' }, { ...index, name: './index.html' }, { name: './art/./deep/a.png' }]],
    ['folders twice', [index, { name: 'art/' }, { name: 'art/' }, { name: 'Art/' }, { name: 'art/deep/a.png' }]],
    ['folders in folders', [{ ...index, name: 'a/b/index.html' }, { name: 'a/' }, { name: 'a/b/art/deep/a.png' }]],
  ]
  for (const [name, entries] of archives) {
    t.equal((await publish(zip(entries))).status, 303, name)
    t.same(Object.keys(await liveBuild(platform, game.id)).sort(), expected, name)
  }
})

t.test('the real programs pack what is published under the names of its files', async (t) => {
  if (!hasPrograms(t, 'zip', 'bsdtar', '7zz')) return
  const { platform, game, publish } = await withGame(t)
  const files = { 'index.html': '<h1>hi</h1>', 'art/café.json': '{}', '日本/レベル.json': '[]' }
  const folder = t.testdir({
    build: { 'index.html': files['index.html'], art: { 'café.json': '{}' }, 日本: { 'レベル.json': '[]' } },
  })
  const cwd = join(folder, 'build')
  const locales = ['C', 'C.UTF-8'].map((LC_ALL) => ({ ...process.env, LC_ALL }))
  for (const [program, ...args] of [
    ['zip', '-qr', '../x.zip', '.'],
    ['bsdtar', '-a', '-cf', '../x.zip', '.'],
    ['7zz', 'a', '-tzip', '../x.zip', '.'],
  ] as const) {
    for (const env of locales) {
      rmSync(join(folder, 'x.zip'), { force: true })
      execFileSync(program, args, { cwd, env, stdio: 'ignore' })
      t.equal((await publish(readFileSync(join(folder, 'x.zip')))).status, 303, `${program} ${env.LC_ALL}`)
      t.same(await liveBuild(platform, game.id), files, `${program} ${env.LC_ALL}`)
    }
  }
})

t.test('the only page of a build is its start page, in an archive or alone', async (t) => {
  const { platform, player, game, publish } = await withGame(t)
  const said = async () => (await player.get('/games/pong/deploys?published=0')).text
  for (const [name, archive] of [
    ['at the top', zipOf({ 'Story.html': 'told', 'art/a.png': 'x' })],
    ['in a folder', zipOf({ 'My story/Story.html': 'told', 'My story/art/a.png': 'x' })],
  ] as const) {
    t.equal((await publish(archive)).status, 303, name)
    t.same(await liveBuild(platform, game.id), { 'index.html': 'told', 'art/a.png': 'x' }, name)
    t.match(await said(), /Your build is live\.[^<]* Story\.html is published as index\.html/, name)
  }
  platform.clock.advance(1000)
  t.equal((await publish(Buffer.from('<h1>one file</h1>'), '', player, '', 'My game.HTML')).status, 303)
  t.same(await liveBuild(platform, game.id), { 'index.html': '<h1>one file</h1>' })
  t.match(await said(), /My game\.HTML is published as index\.html/)
})

const MiB = 1024 * 1024
const zeros = Buffer.alloc(80 * MiB)

const hostile: [name: string, archive: Buffer, words: string | RegExp, status?: number][] = [
  ['nothing', Buffer.alloc(0), 'unpacked'],
  ['no archive', Buffer.from('GIF89a'.repeat(100)), 'unpacked'],
  ['a cut archive', zipOf(build('x', 9)).subarray(0, 300), 'unpacked'],
  ['an empty archive', zip([]), 'index.html'],
  ['two pages', zipOf({ 'a.html': 'x', 'b.htm': 'x' }), 'There are a.html, b.htm: rename the page that opens first'],
  ['a misspelt page', zipOf({ 'Index.html': 'x', 'b.html': 'x' }), 'There is a Index.html: rename it to index.html'],
  ['no page', zipOf({ 'project.godot': 'x' }), 'There is no HTML file at all'],
  ['a page far inside', zipOf({ 'a/b/play.html': 'x', 'x.txt': '' }), 'The first page is a/b/play.html'],
  ['an app', zipOf({ 'config.xml': '', 'www/index.html': 'x' }), 'www/index.html: publish the folder www alone'],
  [
    'a project that is not built',
    zipOf({ 'package.json': '{}', 'src/App.js': '', 'public/index.html': 'x' }),
    'public/index.html of a project with a package.json: build it',
  ],
  [
    'a project in a folder',
    zipOf({ 'readme.md': '', 'game/package.json': '{}', 'game/src/index.html': 'x' }),
    'If it needs no build, publish the folder game/src alone',
  ],
  [
    'a built project',
    zipOf({ 'package.json': '{}', 'public/index.html': 'x', 'dist/index.html': 'x' }),
    'dist/index.html: publish the folder dist alone',
  ],
  ['an archive inside', zipOf({ 'game.rar': 'x' }), 'an archive inside, game.rar'],
  ['a program for Windows', Buffer.from('MZ\x90\0 and more'), 'This is a program for Windows, whatever its name says'],
  ['a RAR archive', Buffer.from('Rar!\x1a\x07\x01\0 and more'), 'This is a RAR archive, whatever its name says'],
  ['a 7z archive', Buffer.from('377abcaf271c0004', 'hex'), 'This is a 7z archive'],
  ['a tar archive', Buffer.concat([Buffer.alloc(257), Buffer.from('ustar\x0000'), Buffer.alloc(300)]), 'a tar archive'],
  [
    'a start page in one of two folders',
    zipOf({ 'a/index.html': 'x', 'b/x': 'x' }),
    'a/index.html: publish the folder a alone',
  ],
  ['a way up', zip([index, { name: '../up.txt' }]), 'segment'],
  ['a way up inside', zip([index, { name: 'a/../../up.txt' }]), 'segment'],
  ['a way up after a dot', zip([index, { name: './../up.txt' }]), 'segment'],
  ['the root after a dot', zip([index, { name: './/etc/passwd' }]), 'absolute'],
  ['an absolute path', zip([index, { name: '/etc/passwd' }]), 'absolute'],
  ['a share', zip([index, { name: '//host/share' }]), 'absolute'],
  ['a drive', zip([index, { name: 'C:/x' }]), 'drive'],
  ['a way up by backslashes', zip([index, { name: 'a\\..\\..\\up.txt' }]), 'segment'],
  ['a share by backslashes', zip([index, { name: '\\\\host\\share' }]), 'absolute'],
  ['a drive by backslashes', zip([index, { name: 'C:\\x' }]), 'drive'],
  ['a secret by backslashes', zip([index, { name: 'mp\\rooms' }]), 'reserved'],
  ['a file twice by backslashes', zip([index, { name: 'a/b' }, { name: '.\\a\\b' }]), 'twice'],
  ['a name in bytes with a way up', zip([index, { name: Buffer.from('2e2e2f82', 'hex'), flags: 0 }]), 'segment'],
  ['a folder of its own with content', zip([index, { name: './', bytes: 'x' }]), 'folder'],
  ['an empty segment', zip([index, { name: 'a//b' }]), 'empty segment'],
  ['an empty name', zip([index, { name: '' }]), 'empty'],
  ['a NUL', zip([index, { name: 'a\0.txt' }]), 'control'],
  ['a line break', zip([index, { name: 'a\n.txt' }]), 'control'],
  ['turned writing', zip([index, { name: 'a\u202egnp.exe' }]), 'control'],
  [
    'patterns that take for ever',
    zipOf({ 'index.html': 'x', '.gameyardignore': `${'a/**/'.repeat(6)}b`, [`${'a/'.repeat(120)}c`]: 'x' }),
    'too long to match',
  ],
  ['a name of 513 bytes', zip([index, { name: 'x'.repeat(513) }]), '512'],
  ['an escape that is none', zip([index, { name: 'a/%2e%2e/b' }]), /^$/, 303],
  ['a symbolic link', zip([index, { name: 'link', bytes: '/etc/passwd', mode: 0o120777 }]), 'symbolic link'],
  ['a start page that is a link', zip([{ ...index, mode: 0o120777 }]), 'symbolic link'],
  ['a device', zip([index, { name: 'dev', mode: 0o020666 }]), 'device'],
  ['a pipe', zip([index, { name: 'pipe', mode: 0o010666 }]), 'device'],
  ['a folder that is a file', zip([index, { name: 'folder/', bytes: 'content' }]), 'folder'],
  ['a file twice', zip([index, { name: 'a' }, { name: 'a', bytes: 'other' }]), 'twice'],
  ['a start page twice', zip([index, { ...index, bytes: 'other' }]), 'twice'],
  ['a file twice for some disks', zip([index, { name: 'a' }, { name: 'A' }]), 'one file'],
  ['a file twice once composed', zip([index, { name: 'e\u0301' }, { name: '\u00e9' }]), 'twice'],
  ["the platform's own", zip([index, { name: 'auth/service/start' }]), 'reserved'],
  ["the platform's own in the root folder", zipOf({ 'a/index.html': 'x', 'a/mp/rooms': 'x' }), 'reserved'],
  ['encryption', zip([index, { name: 'a', bytes: 'x'.repeat(20), flags: 0x801 }]), 'encrypted'],
  ['an unusual compression', zip([index, { name: 'a', bytes: 'x', method: 12 }]), 'unusual'],
  ['a size that is too small', zip([index, { name: 'a', bytes: 'x'.repeat(99), says: { size: 10 } }]), 'unpacked'],
  ['a size that is too large', zip([index, { name: 'a', bytes: 'x'.repeat(99), says: { size: 100 } }]), 'unpacked'],
  ['a stored size that lies', zip([index, { name: 'a', bytes: 'xx', method: 0, says: { size: 1 } }]), 'unpacked'],
  ['a wrong checksum', zip([index, { name: 'a', bytes: 'x', says: { crc: 1 } }]), 'checksum'],
  ['broken data', zip([index, { name: 'a', bytes: 'x'.repeat(9), raw: Buffer.alloc(9, 0xff) }]), 'unpacked'],
  ['entries that share bytes', zip([index, { name: 'a', bytes: 'xy', says: { offset: 0 } }]), 'overlaps'],
  ['bytes of the directory', zip([{ ...index, says: { compressedSize: 90 } }]), 'overlaps'],
  ['more entries than there are', zip([index], { entries: 2 }), 'unpacked'],
  ['a bomb', zipOf({ 'index.html': 'x', 'zeros.bin': zeros }), 'bomb'],
]

t.test('whatever is in an archive, it is refused with a sentence and leaves nothing', async (t) => {
  const { platform, game, publish, spooled } = await withGame(t)
  for (const [name, archive, words, status = 400] of hostile) {
    const answer = await publish(archive)
    t.equal(answer.status, status, name)
    const [, alert = ''] = /role="alert"[\s\S]*?notice-body"><div>([\s\S]*?)<\/div>/.exec(answer.text) ?? []
    t.match(alert, words, `${name}: ${alert}`)
    t.notMatch(alert, /\p{Cc}|\u202e/u, `${name}: no control character comes back`)
    if (status === 303) continue
    t.same(await spooled(), [], `${name}: no file stays`)
  }
  const begun = await platform.app.db.em().find(DeployRow, { gameId: game.id })
  t.same(
    begun.map(({ state }) => state),
    ['live'],
    'none of them became a deploy',
  )
})

t.test('limits hold for archives', async (t) => {
  const { publish } = await withGame(t, { limits: { filesPerDeploy: 3, deployBytes: 2000, deployFileBytes: 900 } })
  const noise = (size: number) => Buffer.from(Array.from({ length: size }, (_, index) => (index * 7919) % 251))
  const cases: [string, Buffer, number][] = [
    ['just enough', zipOf({ 'index.html': 'x', a: 'a', b: 'b' }), 303],
    ['a file too many', zipOf({ 'index.html': 'x', a: 'a', b: 'b', c: 'c' }), 413],
    ['a file too large', zipOf({ 'index.html': noise(901) }), 413],
    ['all of it too large', zipOf({ 'index.html': 'x', a: noise(900), b: noise(1100).subarray(200), d: '' }), 413],
    ['entries beyond all measure', zipOf(Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`${i}/`, '']))), 413],
    [
      'an archive too large',
      zip([
        { ...index, method: 0 },
        { name: 'x', bytes: Buffer.alloc(3000, 'x'), method: 0 },
      ]),
      413,
    ],
  ]
  for (const [name, archive, status] of cases) {
    const answer = await publish(archive)
    t.equal(answer.status, status, `${name}: ${answer.text.slice(0, 0)}`)
  }
})

t.test("nobody publishes to another's game, nor without a file, nor from another site", async (t) => {
  const { platform, player, publish, spooled } = await withGame(t)
  const other = await platform.signUp()
  t.equal((await publish(zipOf(build('x')), '', other)).status, 404)
  t.equal((await player.submit('/games/pong/deploys', {})).status, 400)
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  t.equal((await player.post('/games/pong/deploys', Buffer.from('--x--\r\n'), { headers })).status, 400)
  t.equal((await player.post('/games/pong/deploys', Buffer.from('--y'), { headers })).status, 400)
  const foreign = { ...headers, origin: 'http://pong.localhost:8080' }
  t.equal((await player.post('/games/pong/deploys', Buffer.from('--x--\r\n'), { headers: foreign })).status, 403)
  t.same(await spooled(), [])
})

t.test('few archives are unpacked at a time, and the others wait for their turn', async (t) => {
  const { publish, spooled } = await withGame(t, { limits: { archivesAtOncePerPlayer: 1 } })
  const answers = await Promise.all(Array.from({ length: 6 }, () => publish(zip([index]))))
  t.equal(answers.filter(({ status }) => status === 303).length, 4, 'as many as one player may upload at a time')
  for (const refused of answers.filter(({ status }) => status !== 303)) {
    t.match(refused, { status: 429, text: /Too many requests|Slow down/, headers: { 'retry-after': /^\d+$/ } })
  }
  t.equal((await publish(zip([index]))).status, 303, 'then the next')
  t.equal((await publish(Buffer.from('no archive'))).status, 400)
  t.equal((await publish(zip([index]))).status, 303, 'a refusal gives its turn back')
  t.same(await spooled(), [])
})

inFull(t)?.test('an archive of 20,000 small files takes little of the main thread, and little memory', async (t) => {
  const { platform, game, publish } = await withGame(t)
  const entries = Array.from({ length: 19_999 }, (_, number) => ({
    name: `level/${number % 50}/${number}.json`,
    bytes: `${'x'.repeat(90)} ${number}`,
  }))
  const archive = zip([index, ...entries])
  const residentMb = () => process.memoryUsage().rss / 1e6
  const before = residentMb()
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, residentMb())
  }, 20)
  const began = process.threadCpuUsage()
  t.equal((await publish(archive)).status, 303)
  // Without the system's time, which depends on the disk.
  const seconds = process.threadCpuUsage(began).user / 1e6
  clearInterval(watch)
  // Unpacked by a stream each, they took three times as long.
  t.ok(seconds < processorLimit(3000) / 1000, `${seconds.toFixed(1)} s`)
  t.ok(most - before < 150, `${(most - before).toFixed(0)} MB`)
  const deployId = (await platform.app.games.get(game.id)).liveDeployId as string
  t.equal((await platform.app.deploys.manifest(deployId))?.size, 20_000)
})

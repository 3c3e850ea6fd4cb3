/** An attack of a room script on its platform. */
export interface Attack {
  name: string
  /** The body of `message(room, player, type, data)`. */
  code: string
  /** Code at the top of the module. */
  top?: string
  /**
   * What becomes of the room: it ends with 4010, it goes on, or either, where that depends on the engine. Nobody else
   * may notice in any case.
   */
  room: 'ends' | 'lives' | 'either'
  /** Run in the short form too. */
  short?: true
}

const attack = (name: string, room: Attack['room'], code: string, more: Partial<Attack> = {}): Attack => ({
  name,
  room,
  code,
  ...more,
})
const short = { short: true } as const

/** Time: what runs for ever, or long in one operation. */
const time: Attack[] = [
  attack('an endless loop', 'ends', 'for (;;);', short),
  attack('an endless loop that catches', 'ends', 'for (;;) { try { for (;;); } catch {} }'),
  attack('an endless loop in finally', 'ends', 'try { for (;;); } finally { for (;;); }'),
  attack('endless recursion', 'lives', 'const f = () => f(); try { f() } catch {}', short),
  attack('recursion that catches and goes on', 'ends', 'const f = () => { try { f() } catch { f() } }; f()'),
  attack('mutual recursion through a getter', 'lives', 'const o = { get a() { return this.a } }; try { o.a } catch {}'),
  attack('a catastrophic regular expression', 'ends', "/(a+)+$/.test('a'.repeat(40) + 'b')", short),
  attack('a regular expression with back references', 'ends', "/^(a*)*\\1$/.test('a'.repeat(60) + 'b')"),
  attack('a regular expression with look-behind', 'ends', "/(?<=(a|aa)+)b$/.test('a'.repeat(60) + 'c'); for (;;);"),
  attack('replaceAll with a slow expression', 'ends', "('a'.repeat(40) + 'b').replace(/(a|a)*c/g, 'x'); for (;;);"),
  attack('squaring a BigInt', 'either', 'let n = 3n; for (;;) n *= n', short),
  attack('a BigInt power', 'either', 'const n = 7n ** 5000000n; for (;;) n * n'),
  attack('a BigInt as text', 'ends', 'for (;;) (1n << 400000n).toString()'),
  attack('a sort whose comparison never ends', 'ends', '[2, 1].sort(() => { for (;;); })', short),
  attack(
    'a sort that contradicts itself',
    'ends',
    'for (;;) Array.from({ length: 5000 }, (_, i) => i).sort(() => Math.random() - 0.5)',
  ),
  attack(
    'a search that cannot be interrupted',
    'ends',
    "const s = 'a'.repeat(2e6); for (;;) s.indexOf('a'.repeat(1e6) + 'b')",
    short,
  ),
  attack(
    'a split that cannot be interrupted',
    'ends',
    "const s = 'a'.repeat(2e6); for (;;) s.lastIndexOf('b' + 'a'.repeat(1e6))",
  ),
  attack(
    'toString that never ends, in a log',
    'ends',
    'room.log({ toString() { for (;;); }, toJSON() { for (;;); } })',
  ),
  attack('toString that never ends, as a type', 'lives', 'try { room.send({ toString() { for (;;); } }, 1) } catch {}'),
  attack('toJSON that never ends', 'ends', "room.send('x', { toJSON() { for (;;); } })"),
  attack('a getter in what is sent', 'ends', "room.send('x', { get a() { for (;;); } })"),
  attack('a getter in a recipient', 'ends', "room.send('x', 1, { get id() { for (;;); } })"),
  attack('a Proxy as recipients', 'ends', "room.send('x', 1, new Proxy([], { get() { for (;;); } }))"),
  attack('a Proxy as state', 'ends', 'room.state.assign(new Proxy({}, { ownKeys() { for (;;); } }))'),
  attack('a generator without end', 'ends', 'function* g() { for (;;) yield 1 } for (const x of g());'),
  attack(
    'an iterator without end',
    'ends',
    'Array.from({ [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) })',
  ),
  attack('promises that chain for ever', 'ends', 'const f = () => Promise.resolve().then(f); f()', short),
  attack('rejections without end', 'ends', "for (;;) Promise.reject(new Error('x'))", short),
  attack('rejections that are handled later, without end', 'ends', 'for (;;) Promise.reject(1).catch(() => {})'),
  attack('an endless loop in a promise, caught', 'ends', 'new Promise(() => { for (;;); }).catch(() => {})', short),
  attack('an endless loop in an async function, caught', 'ends', '(async () => { for (;;); })().catch(() => {})'),
  attack(
    'a rejection whose reason never ends',
    'ends',
    'Promise.reject(new Proxy({}, { get() { for (;;); } }))',
    short,
  ),
  attack('await for ever', 'ends', '(async () => { for (;;) await null })()'),
  attack('a thenable that resolves itself', 'ends', 'const t = { then(r) { r(t) } }; Promise.resolve(t); for (;;);'),
  attack('an exception whose message never comes', 'ends', 'throw { get message() { for (;;); } }'),
  attack('an exception that is a Proxy', 'ends', 'throw new Proxy({}, { get() { for (;;); } })'),
  attack('a typed array as long as it gets', 'either', 'for (;;) new Uint8Array(1e7).sort()'),
  attack('joining a nested array', 'either', "let a = ['x']; for (let i = 0; i < 40; i++) a = [a, a]; a.join()"),
  attack('JSON of a nested array', 'either', 'let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; JSON.stringify(a)'),
]

/** Memory. */
const memory: Attack[] = [
  attack('an array that grows', 'ends', 'const a = []; for (;;) a.push(new Array(1000).fill(1))', short),
  attack('a text of 100 MB', 'lives', "try { 'x'.repeat(1e8) } catch {}", short),
  attack('a text of 1 GB', 'lives', "try { 'x'.repeat(1e9 / 1.1) } catch {}"),
  attack('a text that doubles', 'either', "let s = 'x'; for (;;) s += s"),
  attack('an ArrayBuffer of 1 GB', 'lives', 'try { new ArrayBuffer(1e9) } catch {}'),
  attack('a Map that grows', 'ends', 'const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])'),
  attack('closures that grow', 'ends', 'let f = () => 1; for (;;) { const g = f; f = () => g }'),
  attack(
    'memory caught and asked for again',
    'ends',
    'for (;;) { try { const a = []; for (;;) a.push(new Array(1e4).fill(0)) } catch {} }',
  ),
  attack('padding without end', 'lives', "try { 'x'.padEnd(2 ** 30 - 1, 'y') } catch {}"),
  attack('deep JSON', 'lives', "try { JSON.parse('['.repeat(1e6)) } catch {}"),
  attack('a deep regular expression', 'lives', "try { new RegExp('('.repeat(1e5) + ')'.repeat(1e5)) } catch {}"),
  attack('deep source', 'lives', "try { eval('('.repeat(1e5)) } catch {}"),
  attack(
    'a million timers',
    'lives',
    'try { for (let i = 0; i < 1e6; i++) room.after(1e6, () => {}) } catch {}',
    short,
  ),
  attack(
    'timers that fire at once, again and again',
    'either',
    'for (let i = 0; i < 900; i++) room.every(1, () => { for (let j = 0; j < 2000; j++); })',
  ),
]

/** Floods of what leaves the room. */
const floods: Attack[] = [
  attack('a million messages', 'either', "for (let i = 0; i < 1e6; i++) room.send('x', i)", short),
  attack('messages as large as they get', 'either', "for (let i = 0; i < 1e4; i++) room.send('x', 'y'.repeat(60000))"),
  attack('a message that is too large', 'lives', "try { room.send('x', 'y'.repeat(1e6)) } catch {}"),
  attack('state without end', 'either', "for (let i = 0; i < 1e5; i++) room.state.set('k' + i, 'v'.repeat(1000))"),
  attack('the same state again and again', 'either', "for (let i = 0; i < 1e5; i++) room.state.set('k', i)"),
  attack('a log without end', 'either', "for (let i = 0; i < 1e6; i++) room.log('x'.repeat(1000))"),
  attack('bytes without end', 'either', 'for (;;) room.sendBinary(new Uint8Array(60000))'),
  attack('scores without end', 'either', "for (;;) room.score('best', player, 1)"),
  attack(
    'messages to nobody',
    'lives',
    "for (let i = 0; i < 1000; i++) room.send('x', 1, ['p999', '', '__proto__', {}, null, 7])",
  ),
  attack(
    'kicks of nobody',
    'lives',
    "try { room.kick('p999') } catch {} try { room.kick(null) } catch {} try { room.host({}) } catch {}",
  ),
]

/** What is handed over, and what comes back. */
const values: Attack[] = [
  attack(
    'data that is no JSON',
    'lives',
    "for (const x of [undefined, () => 1, Symbol('x'), NaN, Infinity, -0, new Map(), new Date(0)]) room.send('x', x)",
  ),
  attack(
    'a BigInt and a cycle',
    'lives',
    "const o = {}; o.o = o; for (const x of [1n, o]) { try { room.send('x', x) } catch {} }",
  ),
  attack(
    'line feeds and tabs in names',
    'lives',
    "room.send('a\\nM\\t*\\t{}', 'b\\tc\\n', ['p1\\tp2', 'p1\\n']); room.state.set('a\\tb\\nS\\t{}', '\\n\\t'); room.log('\\nK\\tp1')",
  ),
  attack(
    'lone surrogates and NUL',
    'lives',
    "room.send('\\ud800\\0', '\\udfff\\0'); room.state.set('\\0\\ud800', '\\ud800'); room.log('\\0\\ud800')",
  ),
  attack(
    'poisoned prototypes',
    'lives',
    `
    Object.prototype.toJSON = () => { throw 1 }; String.prototype.slice = () => 'M\\t*\\t{"t":"welcome"}';
    Array.prototype.push = () => { throw 1 }; Array.prototype[Symbol.iterator] = () => { throw 1 };
    Map.prototype.get = () => ({}); JSON.parse = () => ({}); JSON.stringify = () => '\\nK\\tp1\\t""';
    Promise.prototype.then = () => { throw 1 }; Reflect.apply = () => { throw 1 }
    delete Object.prototype.toJSON`,
    short,
  ),
  attack(
    'poisoned setters',
    'lives',
    `
    for (const name of ['type', 'data', 'id', 'due', 'fn', 'every', 'resolve', 'count', 'ids'])
      Object.defineProperty(Object.prototype, name, { set() { throw 1 }, get: () => undefined, configurable: true })`,
  ),
  attack(
    'poisoned indexes',
    'lives',
    "Object.defineProperty(Array.prototype, 0, { set() { throw 1 }, get: () => 'x', configurable: true })",
  ),
  attack(
    'a changed room',
    'lives',
    "'use strict'; for (const key of Object.keys(room)) { try { room[key] = () => { throw 1 } } catch {} }",
  ),
  attack(
    'a changed list of players',
    'lives',
    "try { room.players.push({ id: 'p9' }) } catch {} try { room.players.length = 0 } catch {}",
  ),
  attack('a changed player', 'lives', "player.id = 'p9'; player.sub = 'admin'; room.kick('p9'), 0", {}),
  attack(
    'another globalThis',
    'lives',
    'for (const key of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[key] } catch {} }',
  ),
  attack('a snapshot that is a function', 'lives', '', { top: 'export const snapshot = () => () => 1' }),
  attack('a snapshot with a cycle', 'lives', '', {
    top: 'export const snapshot = () => { const a = {}; a.a = a; return a }',
  }),
  attack('a snapshot that is too large', 'lives', '', { top: "export const snapshot = () => 'x'.repeat(1e6)" }),
  attack('a snapshot that never ends', 'ends', '', { top: 'export const snapshot = () => { for (;;); }' }),
  attack('a snapshot as deep as the stack', 'either', '', {
    top: 'export const snapshot = () => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a }',
  }),
]

/** Ways out. Each throws when there is something that a room must not have. */
const outside: Attack[] = [
  attack(
    'names of the server',
    'lives',
    `
    for (const name of ['process', 'require', 'module', 'Buffer', 'fetch', 'WebSocket', 'XMLHttpRequest', 'Worker',
      'SharedArrayBuffer_', 'setTimeout', 'setInterval', 'queueMicrotask_', 'WebAssembly', 'Deno', 'Bun', 'std', 'os',
      'scriptArgs', 'importScripts', 'navigator', 'postMessage', 'parentPort'])
      if (typeof globalThis[name] !== 'undefined') room.send('escaped', name)`,
    short,
  ),
  attack(
    'the constructor of functions',
    'lives',
    `
    const made = room.send.constructor('return this')() ?? {}
    if (made.process || made.require) room.send('escaped', 'Function')
    const found = eval('typeof process + typeof require')
    if (found !== 'undefinedundefined') room.send('escaped', found)`,
  ),
  attack(
    'import()',
    'lives',
    `
    for (const name of ['node:fs', 'fs', 'std', 'os', 'qjs:std', './other.js', 'https://example.com/x.js'])
      import(name).then(() => room.send('escaped', name), () => {})`,
  ),
  attack(
    'the stack of an exception',
    'lives',
    `
    const { stack } = new Error('x')
    if (/worker|node_modules|\\/|sandbox/.test(stack)) room.send('escaped', stack)`,
  ),
  attack(
    'prepareStackTrace',
    'lives',
    `
    let seen = ''
    Error.prepareStackTrace = (error, sites) => { seen = String(sites?.[0]?.getThis?.()); return seen }
    try { null.x } catch (error) { String(error.stack) }
    if (/process|Worker/.test(seen)) room.send('escaped', seen)`,
  ),
  attack(
    'arguments.callee.caller',
    'lives',
    `
    function f() { return f.caller }
    try { if (String(f()).includes('native')) room.send('escaped', 'caller') } catch {}`,
  ),
  attack(
    'the clock within a call',
    'lives',
    `
    const at = [room.now(), Date.now(), new Date().getTime()]
    for (let i = 0; i < 20000; i++);
    const then = [room.now(), Date.now(), new Date().getTime()]
    if (String(at) !== String(then)) room.send('escaped', 'clock')
    if (Intl_ !== undefined) room.send('escaped', 'Intl')`,
    { top: 'const Intl_ = globalThis.Intl' },
  ),
  attack(
    'the real clock behind the replaced one',
    'lives',
    `
    const Real = new Date(0).constructor
    const at = Real.now(); for (let i = 0; i < 20000; i++);
    if (Real.now() !== at || new Date().getTimezoneOffset() !== 0 || new Date(0).getHours() !== 0) room.send('escaped', 'Date')`,
  ),
  attack(
    'Atomics.wait',
    'lives',
    `
    if (typeof Atomics !== 'undefined' && typeof SharedArrayBuffer !== 'undefined') {
      try { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000); room.send('escaped', 'Atomics.wait') } catch {}
    }`,
  ),
  attack(
    'players of other rooms',
    'lives',
    "try { await_ = room.saves.get('p2', 'k'); await_.then((x) => room.send('escaped', x), () => {}) } catch {}",
    {
      top: 'let await_',
    },
  ),
]

/** The engine: what is left over, freed, resized or replaced while it is used. */
const engine: Attack[] = [
  attack(
    'finalizers that never end',
    'either',
    `
    const registry = new FinalizationRegistry(() => { for (;;); })
    for (let i = 0; i < 1e4; i++) registry.register({}, i)`,
  ),
  attack(
    'finalizers that are left when the room ends',
    'ends',
    `
    const registry = new FinalizationRegistry(() => room.send('escaped', 'finalizer'))
    for (let i = 0; i < 1e4; i++) { const a = {}; a.a = a; registry.register(a, i) }
    for (;;);`,
  ),
  attack(
    'a buffer that is resized while it is sorted',
    'either',
    `
    const buffer = new ArrayBuffer(8000, { maxByteLength: 8000 })
    const numbers = new Uint8Array(buffer).map((_, i) => -i)
    new Uint8Array(buffer).sort((a, b) => { buffer.resize(8); return a - b })
    numbers.sort(() => { buffer.resize(0); return 1 })`,
  ),
  attack(
    'a buffer that is taken away while it is sent',
    'lives',
    `
    const bytes = new Uint8Array(2000)
    Object.defineProperty(bytes, 'length', { get() { bytes.buffer.transfer?.(); return 2000 } })
    try { room.sendBinary(bytes) } catch {}`,
  ),
  attack(
    'a buffer that grows to 1 GB',
    'lives',
    'try { new ArrayBuffer(8, { maxByteLength: 1e9 }).resize(1e9) } catch {}',
  ),
  attack(
    'species of buffers',
    'lives',
    `
    class Mine extends ArrayBuffer { static get [Symbol.species]() { return function () { return new ArrayBuffer(1) } } }
    Object.defineProperty(ArrayBuffer.prototype, 'constructor', { get: () => Mine })
    try { room.sendBinary(new Uint8Array(10)) } catch {}`,
  ),
  attack(
    'an array that changes while it is sorted',
    'either',
    `
    const a = Array.from({ length: 2000 }, (_, i) => ({ i }))
    a.sort((x, y) => { a.length = 0; a.push({}); return (x?.i ?? 0) - (y?.i ?? 1) })`,
  ),
  attack(
    'a map that changes while it is walked',
    'ends',
    'const m = new Map([[0, 0]]); m.forEach((_, key) => { m.delete(key); m.set(key + 1, 0) })',
  ),
  attack(
    'an exception with long texts',
    'lives',
    `
    const error = new Error('x'.repeat(1e6)); error.name = 'n'.repeat(1e6); error.stack = 's\\n'.repeat(5e5)
    throw error`,
  ),
  attack('an exception with a symbol', 'lives', "throw { name: Symbol('x'), message: Symbol('y'), stack: 1n }"),
  attack('nothing thrown', 'lives', 'throw undefined'),
  attack(
    'a stack trace without limit',
    'either',
    `
    Error.stackTraceLimit = Infinity
    const f = (n) => { if (n === 0) throw new Error('deep'); f(n - 1) }
    f(500)`,
  ),
  attack(
    'the platform at the end of the stack',
    'either',
    `
    const f = () => { try { f() } catch {} room.state.set('k', 1); room.state.delete('k'); room.send('x', 1) }
    try { f() } catch {}`,
  ),
  attack(
    'exceptions by the thousand',
    'ends',
    "for (let i = 0; i < 900; i++) room.after(1, () => { throw new Error('x'.repeat(1e4)) })",
  ),
  attack(
    'timers that each take their time',
    'ends',
    'for (let i = 0; i < 900; i++) room.after(1, () => { for (let j = 0; j < 50000; j++); })',
  ),
  attack(
    'a timer in a million years',
    'lives',
    'for (const ms of [2 ** 31, 2 ** 53, 1e300, Infinity, NaN, -1]) room.after(ms, () => {})',
  ),
  attack(
    'scores by the thousand, again and again',
    'lives',
    `
    let left = 20
    const stop = room.every(10, () => { for (let i = 0; i < 90; i++) room.score('b', 'p1', i).catch(() => {}); if (--left < 0) stop() })`,
  ),
  attack(
    'a reason without end',
    'lives',
    "room.state.set('k', 1); for (const p of ['p7']) { try { room.kick(p, '終'.repeat(1e5)) } catch {} }",
  ),
  attack(
    'locks and hosts without end',
    'either',
    'for (let i = 0; i < 1e6; i++) { room.lock(); room.unlock(); room.host(player) }',
  ),
  attack(
    'raw JSON',
    'lives',
    "try { room.send('x', JSON.rawJSON?.('1\\n')) } catch {} try { room.send('x', JSON.rawJSON?.('1')) } catch {}",
  ),
  attack(
    'hasInstance of what the platform asks',
    'lives',
    `
    for (const made of [Error, Promise, Uint8Array]) Object.defineProperty(made, Symbol.hasInstance, { value: () => true })
    room.log({}, player); room.log(7); try { room.sendBinary({ length: 5 }) } catch {}
    return {}`,
  ),
  attack('then on all objects', 'ends', 'Object.prototype.then = () => { for (;;); }; (async () => { await {} })()'),
  attack('settings with getters', 'ends', '', { top: 'export const settings = { get tick() { for (;;); } }' }),
  attack('settings that are a Proxy', 'ends', '', {
    top: 'export const settings = new Proxy({}, { get: () => { throw new Proxy({}, { get() { for (;;); } }) } })',
  }),
  attack('handlers that are Proxies', 'ends', '', {
    top: 'export const tick = new Proxy(() => {}, { apply() { for (;;); } }); export const settings = { tick: 60 }',
  }),
  attack('handlers that are classes and generators', 'lives', '', {
    top: 'export class leave {} export function* tick() { for (;;) yield } export const settings = { tick: 20 }',
  }),
  attack('a top level that never ends', 'ends', '', { top: 'for (;;);' }),
  attack('a top level that waits for ever', 'ends', '', { top: 'await new Promise(() => {})' }),
]

export const attacks: Attack[] = [...time, ...memory, ...floods, ...values, ...outside, ...engine]

export const scriptOfAttack = ({ code, top = '' }: Attack): string => `
${top}
export function message(room, player, type, data) {
  if (type === 'alive') room.send('alive', data, 'p1')
  if (type !== 'attack') return
  ${code}
}`

import t from 'tap'
import { VISIBLE_PATTERN, visibleLength, visibleText } from '../../core/visible-text.ts'

const NOTHING = [
  '',
  ' ',
  '\t\n',
  '\u00a0',
  '\u2003',
  '\u3000',
  '\u200b',
  '\u200b\u200b',
  '\u200c',
  '\u200d',
  '\u2060',
  '\ufeff',
  '\u00ad',
  '\u034f',
  '\u061c',
  '\u115f',
  '\u1160',
  '\u17b4',
  '\u180e',
  '\u200e',
  '\u200f',
  '\u2800',
  '\u3164',
  '\uffa0',
  '\ufe0f',
  '\u{1d159}',
  '\u{e0001}',
  '\u{e0041}\u{e007f}',
  '\u{e0100}',
  '\u0301',
  '\u2800 \u200b\u3164',
]

t.test('what shows nothing is no text', async (t) => {
  const pattern = new RegExp(VISIBLE_PATTERN, 'u')
  for (const text of NOTHING) {
    t.equal(visibleText(text), '', JSON.stringify(text))
    t.notOk(pattern.test(text), JSON.stringify(text))
  }
  for (const text of ['Ada', '?', '1', '文', '🎲', '\u200bAda']) t.ok(pattern.test(text))
})

t.test('names that look the same are the same', async (t) => {
  for (const text of [
    'Ada\u200b',
    '\u200bAda',
    'Ada\u00ad',
    'A\u00adda',
    ' Ada \u2800',
    'Ada\u200d',
    '\u200cAda',
    'Ada\ufe0f',
  ])
    t.equal(visibleText(text), 'Ada', JSON.stringify(text))
  t.equal(visibleText('Ada\u{e0041}\u{e007f}'), 'Ada')
  t.equal(visibleText('Ada\u2800\u3000\nLovelace'), 'Ada Lovelace')
  t.equal(visibleText('\x1b]52;c;cm0=\x07Ada\x9b2J\x00'), ']52;c;cm0= Ada 2J', 'a terminal has nothing to obey')
  t.equal(visibleText('a\u0301'), 'á', 'composed')
  t.equal(visibleText('Ada \u200d Lovelace'), 'Ada Lovelace')
})

t.test('joiners between letters, and emoji, stay as they are', async (t) => {
  const family = '👨\u200d👩\u200d👧\u200d👦'
  const england = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'
  for (const text of [
    'می\u200cخواهم',
    'क्\u200dष',
    family,
    '❤\ufe0f',
    '1\ufe0f\u20e3',
    '🏳\ufe0f\u200d🌈',
    england,
    '👍🏽',
  ])
    t.equal(visibleText(text), text)
  t.equal(visibleText('می\u200c\u200cخواهم'), 'می\u200cخواهم', 'one is enough')
  t.same([family, england, 'e\u0301', '👍🏽', 'Ada'].map(visibleLength), [1, 1, 1, 1, 3])
})

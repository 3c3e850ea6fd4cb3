// What models write around the JSON that they were asked for.
import t from 'tap'
import { jsonIn } from '../../../drivers/ai/json-answer.ts'
import { processorLimit } from '../../kit/time-limit.ts'

const want = { name: 'Mira', tags: ['a', '}'], note: 'say "hi" to ]' }
const JSON_TEXT = JSON.stringify(want)
const LINES = JSON.stringify(want, null, 2)

t.test('the value is found in whatever a model writes around it', async (t) => {
  const table: Record<string, string> = {
    'as it is': JSON_TEXT,
    'a byte order mark': `\uFEFF${JSON_TEXT}`,
    'white space': `\n\n${LINES}\n`,
    'a thought': `<think>\nMaybe {"name": "Ann"}? No.\n</think>\n\n${JSON_TEXT}`,
    'a thought without its opening': `Maybe {"name": "Ann"}?\n</think>\n\n${JSON_TEXT}`,
    'two thoughts': `<think>a</think><think>b</think>${JSON_TEXT}`,
    'another tag': `<Thinking>[1]</Thinking>${JSON_TEXT}`,
    'a thought with a code block': `<think>\n\`\`\`json\n{"name": 1}\n\`\`\`\n</think>\n\`\`\`json\n${LINES}\n\`\`\``,
    'a byte order mark and a thought': `\uFEFF<think>x</think>${JSON_TEXT}`,
    'a code block': `\`\`\`json\n${LINES}\n\`\`\``,
    'a code block without a language': `\`\`\`\n${LINES}\n\`\`\``,
    'JSON in capitals': `\`\`\`JSON\n${LINES}\n\`\`\``,
    'a code block on one line': `\`\`\`json ${JSON_TEXT} \`\`\``,
    'a code block on one line, without a space': `\`\`\`${JSON_TEXT}\`\`\``,
    'prose around the code block': `Here it is:\n\`\`\`json\n${LINES}\n\`\`\`\nLet me know!`,
    'an indented code block': `Here:\n  \`\`\`json\r\n  ${JSON_TEXT}\r\n  \`\`\``,
    'a code block of another kind before it': `\`\`\`python\nprint(1)\n\`\`\`\n\`\`\`json\n${LINES}\n\`\`\``,
    'prose before': `Sure! Here you are: ${JSON_TEXT}`,
    'prose after': `${JSON_TEXT}\n\nI hope that this helps.`,
    'prose with quotes and brackets': `The "best" one (really) [sic]: ${JSON_TEXT} isn't it {nice}?`,
  }
  for (const [title, text] of Object.entries(table)) t.same(jsonIn(text), want, title)
})

t.test('a string that looks like what is around an answer stays as it is', async (t) => {
  for (const value of [{ a: '</think>\n' }, { a: '<think>x</think>' }, { a: '```json\n{}\n```' }, '<think>1</think>2'])
    t.same(jsonIn(JSON.stringify(value)), value, JSON.stringify(value))
  const code = { a: '```' }
  t.same(jsonIn(`Here: ${JSON.stringify(code)}`), code)
  t.equal(jsonIn('null'), null)
  t.equal(jsonIn('0'), 0)
})

t.test('two candidates, a part of a value, and no value are none', async (t) => {
  for (const text of [
    '',
    'Sorry, I cannot.',
    '{"a": 1} or {"a": 2}',
    '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
    '{"items": [{"a": 1}, {"a": 2}',
    'Here: [{"a": 1}, {"a": ',
    '<think>{"a": 1}',
    '<think>{"a": 1}</think>',
    '```json\n{"a": \n```',
    "{'a': 1}",
    '{"a": 1,}',
  ])
    t.equal(jsonIn(text), undefined, text)
})

t.test('brackets without an end take time in proportion to the text', async (t) => {
  const before = process.threadCpuUsage().user
  for (const text of ['[', '{"a":', '```', '<think>', '</think>', '[{"', '``` [', '<think></think>'])
    t.equal(jsonIn(text.repeat(100_000)), undefined, text)
  t.ok((process.threadCpuUsage().user - before) / 1000 < processorLimit(20_000))
})

// The words of guides, pages, messages and comments, as a part of `npm run check`: textlint with the terms of
// build/prose-terms.mjs. Programs are read line by line as text, since their words are in comments and strings.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { TextlintKernel } from '@textlint/kernel'
import markdown from '@textlint/textlint-plugin-markdown'
import text from '@textlint/textlint-plugin-text'
import terminology from 'textlint-rule-terminology'
import terms from './prose-terms.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const FOLDERS = 'bin,build,clients,config,core,deploy,docs,drivers,plugins,starters'
const PATTERNS = ['*.md', `{${FOLDERS}}/**/*.{ts,mjs,js,md,html,css,yaml,conf}`]
/** The list itself, the names of mistakes, which follow those of tests, and what is generated. */
const EXCLUDED = ['build/prose-terms.mjs', 'build/mutants/**', 'clients/sdk/openapi.ts', '**/node_modules/**']

const kernel = new TextlintKernel()
let found = 0
for (const file of globSync(PATTERNS, { cwd: root, exclude: EXCLUDED }).sort()) {
  const ext = file.endsWith('.md') ? '.md' : '.txt'
  const { messages } = await kernel.lintText(readFileSync(`${root}/${file}`, 'utf8'), {
    filePath: file,
    ext,
    plugins: [
      { pluginId: 'markdown', plugin: markdown.default ?? markdown },
      { pluginId: 'text', plugin: text.default ?? text },
    ],
    rules: [{ ruleId: 'terminology', rule: terminology, options: { defaultTerms: false, terms } }],
  })
  found += messages.length
  for (const { line, column, message } of messages) console.log(`${file}:${line}:${column} ${message}`)
}
process.exitCode = found === 0 ? 0 : 1

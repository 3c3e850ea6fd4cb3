/** The text editor of the page *Code*, which loads it after the rest: until then the page has a plain text field. */
export { TextEditor } from './code/text-editor.ts'

/** The text of `settings.js`. */
declare const text: string
export default text

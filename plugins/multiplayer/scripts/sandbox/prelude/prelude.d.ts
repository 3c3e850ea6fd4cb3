/** The text of `prelude.js`. */
declare const text: string
export default text

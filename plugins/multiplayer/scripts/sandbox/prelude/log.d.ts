/** The text of `log.js`. */
declare const text: string
export default text

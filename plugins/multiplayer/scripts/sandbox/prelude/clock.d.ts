/** The text of `clock.js`. */
declare const text: string
export default text

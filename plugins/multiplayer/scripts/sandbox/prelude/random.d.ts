/** The text of `random.js`. */
declare const text: string
export default text

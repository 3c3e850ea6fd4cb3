/** The text of `players.js`. */
declare const text: string
export default text

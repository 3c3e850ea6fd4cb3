/** The text of `timers.js`. */
declare const text: string
export default text

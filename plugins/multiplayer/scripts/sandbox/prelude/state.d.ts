/** The text of `state.js`. */
declare const text: string
export default text

/** The text of `rejections.js`. */
declare const text: string
export default text

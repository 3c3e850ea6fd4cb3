/** The text of `requests.js`. */
declare const text: string
export default text

/** The library of charts and its style, loaded by analytics.ts when a chart comes into view. */
export { default } from 'uplot'

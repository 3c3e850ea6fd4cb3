/** The chart library and its style, which analytics.ts loads when a chart comes into view. */
export { default } from 'uplot'

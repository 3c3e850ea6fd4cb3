/** Files that the build embeds as bytes into worker programs (build/browser.ts). */
declare module '*.wasm' {
  const bytes: Uint8Array
  export default bytes
}
declare module '*.woff2' {
  const bytes: Uint8Array
  export default bytes
}

/** Files that the build puts into the programs of workers as bytes (build/browser.ts). */
declare module '*.wasm' {
  const bytes: Uint8Array
  export default bytes
}
declare module '*.woff2' {
  const bytes: Uint8Array
  export default bytes
}

declare module '@jitl/quickjs-ng-wasmfile-release-sync/wasm' {
  /** The file's bytes: the build includes it in the worker's program. */
  const bytes: Uint8Array
  export default bytes
}

/** The minimum size. Below it, a compressed form saves less than its headers cost. */
const FROM_BYTES = 1024
/** The maximum size. Above it, brotli's best quality would occupy a core for minutes. */
const TO_BYTES = 64 * 1024 * 1024

const TYPES =
  /^(?:text\/|application\/(?:javascript|json|wasm|xml|rtf|x-sh|[\w.-]+\+(?:json|xml))|image\/(?:svg\+xml|bmp)|font\/(?:ttf|otf|sfnt)|application\/(?:x-font-ttf|vnd\.ms-fontobject)|model\/(?:gltf\+json|obj))/i

/** Whether a file is worth compressing: a text-like type that is not compressed already. */
export const isCompressible = (path: string, contentType: string, size: number): boolean =>
  size >= FROM_BYTES && size <= TO_BYTES && TYPES.test(contentType) && !/\.(?:br|gz)$/i.test(path)

/** Below this a compressed form saves less than its headers cost. */
const FROM_BYTES = 1024
/** Above this brotli's best would hold a core for minutes. */
const TO_BYTES = 64 * 1024 * 1024

const TYPES =
  /^(?:text\/|application\/(?:javascript|json|wasm|xml|rtf|x-sh|[\w.-]+\+(?:json|xml))|image\/(?:svg\+xml|bmp)|font\/(?:ttf|otf|sfnt)|application\/(?:x-font-ttf|vnd\.ms-fontobject)|model\/(?:gltf\+json|obj))/i

/** Whether compressed forms of a file are worth having: text and what is like it, and not compressed already. */
export const isCompressible = (path: string, contentType: string, size: number): boolean =>
  size >= FROM_BYTES && size <= TO_BYTES && TYPES.test(contentType) && !/\.(?:br|gz)$/i.test(path)

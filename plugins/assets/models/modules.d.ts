declare module 'draco3dgltf/draco_decoder_gltf_nodejs.js' {
  export default function createDecoderModule(options: { wasmBinary: Uint8Array }): Promise<unknown>
}

declare module 'draco3dgltf/draco_encoder_gltf_nodejs.js' {
  export default function createEncoderModule(options: { wasmBinary: Uint8Array }): Promise<unknown>
}

declare module '*.wasm' {
  const bytes: Uint8Array
  export default bytes
}

declare module 'gltf-validator' {
  export interface Issue {
    code: string
    message: string
    /** 0 error, 1 warning, 2 information, 3 hint. */
    severity: 0 | 1 | 2 | 3
    pointer?: string
    offset?: number
  }
  export interface Report {
    issues: { numErrors: number; numWarnings: number; messages: Issue[]; truncated: boolean }
    info: { totalTriangleCount?: number; totalVertexCount?: number }
  }
  export function validateBytes(bytes: Uint8Array, options?: Record<string, unknown>): Promise<Report>
}

declare module 'draco3dgltf' {
  const draco: { createDecoderModule(): Promise<unknown>; createEncoderModule(): Promise<unknown> }
  export default draco
}

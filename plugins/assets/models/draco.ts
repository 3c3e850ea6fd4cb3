import wasmBinary from 'draco3dgltf/draco_decoder_gltf.wasm'
import createDecoderModule from 'draco3dgltf/draco_decoder_gltf_nodejs.js'

/** The Draco decoder; its WebAssembly is inside of the worker's program. */
export const createDecoder = (): Promise<unknown> => createDecoderModule({ wasmBinary })

import decoder from 'draco3dgltf/draco_decoder_gltf.wasm'
import createDecoderModule from 'draco3dgltf/draco_decoder_gltf_nodejs.js'
import encoder from 'draco3dgltf/draco_encoder.wasm'
import createEncoderModule from 'draco3dgltf/draco_encoder_gltf_nodejs.js'

/** The Draco decoder; its WebAssembly is inside of the worker's program. */
export const createDecoder = (): Promise<unknown> => createDecoderModule({ wasmBinary: decoder })

/** The encoder, likewise. */
export const createEncoder = (): Promise<unknown> => createEncoderModule({ wasmBinary: encoder })

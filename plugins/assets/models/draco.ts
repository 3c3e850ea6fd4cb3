/// <reference path="./modules.d.ts" />
import decoder from 'draco3dgltf/draco_decoder_gltf.wasm'
import createDecoderModule from 'draco3dgltf/draco_decoder_gltf_nodejs.js'
import encoder from 'draco3dgltf/draco_encoder.wasm'
import createEncoderModule from 'draco3dgltf/draco_encoder_gltf_nodejs.js'

/** Creates the Draco decoder. Its WebAssembly is bundled with the worker program. */
export const createDecoder = (): Promise<unknown> => createDecoderModule({ wasmBinary: decoder })

/** Creates the Draco encoder, which is bundled in the same way. */
export const createEncoder = (): Promise<unknown> => createEncoderModule({ wasmBinary: encoder })

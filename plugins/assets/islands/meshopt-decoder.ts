// The viewer loads this for models with EXT_meshopt_compression. It expects a global of this name.
import { MeshoptDecoder } from 'meshoptimizer'

Object.assign(globalThis, { MeshoptDecoder })

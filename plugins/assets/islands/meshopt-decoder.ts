// What the viewer loads for models with EXT_meshopt_compression: it looks for a global of this name.
import { MeshoptDecoder } from 'meshoptimizer'

Object.assign(globalThis, { MeshoptDecoder })

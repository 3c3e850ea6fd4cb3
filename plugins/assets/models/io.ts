import { Logger, NodeIO } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { MeshoptDecoder, MeshoptEncoder } from 'meshoptimizer'

/** Creates the reader and writer of glTF binaries. Decoders are loaded only for files that need them. */
export async function createIo(extensions: readonly string[]): Promise<NodeIO> {
  const io = new NodeIO().setLogger(new Logger(Logger.Verbosity.SILENT)).registerExtensions(ALL_EXTENSIONS)
  if (extensions.some((name) => /^(?:EXT|KHR)_meshopt_compression$/.test(name))) {
    await MeshoptDecoder.ready
    await MeshoptEncoder.ready
    io.registerDependencies({ 'meshopt.decoder': MeshoptDecoder, 'meshopt.encoder': MeshoptEncoder })
  }
  if (extensions.includes('KHR_draco_mesh_compression')) {
    const { createDecoder } = await import('./draco.ts')
    io.registerDependencies({ 'draco3d.decoder': await createDecoder() })
  }
  return io
}

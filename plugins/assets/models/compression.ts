import type { Document } from '@gltf-transform/core'
import { KHRDracoMeshCompression } from '@gltf-transform/extensions'
import type { createIo } from './io.ts'

/** Keeps the compression of the source, so that clients which can load the source can load the results too. */
export async function keepCompression(document: Document, io: Awaited<ReturnType<typeof createIo>>): Promise<void> {
  const used = document.getRoot().listExtensionsUsed()
  if (!used.some((extension) => extension instanceof KHRDracoMeshCompression)) return
  const { createEncoder } = await import('./draco.ts')
  io.registerDependencies({ 'draco3d.encoder': await createEncoder() })
}

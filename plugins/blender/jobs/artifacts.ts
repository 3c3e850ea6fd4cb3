import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ImageRefusal, type Images } from '../../../core/images/images.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import type { Artifact, ArtifactName, JobAction } from '../schemas.ts'

/** The artifacts of each action, which equal those of the harness (harness/artifacts.py). */
export const WRITES: Record<JobAction, readonly ArtifactName[]> = {
  create: ['model.glb', 'preview.png', 'inspection.json', 'scene.blend'],
  revise: ['model.glb', 'preview.png', 'inspection.json', 'scene.blend'],
  render: ['preview.png'],
  inspect: ['inspection.json'],
  export: ['model.glb', 'inspection.json'],
}

const TYPES: Record<ArtifactName, string> = {
  'model.glb': 'model/gltf-binary',
  'preview.png': 'image/png',
  'inspection.json': 'application/json',
  'scene.blend': 'application/x-blender',
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const LONGEST_INSPECTION = 4 * 1024 ** 2
const LARGEST_PREVIEW = 16 * 1024 ** 2
/** Of a preview, in pixels. */
const LONGEST_SIDE = 1024

/** The key contains the digest, so that a second run of a job never mixes with the bytes of the first. */
export const artifactKey = (jobId: string, { name, sha256 }: Pick<Artifact, 'name' | 'sha256'>): string =>
  `blender/${jobId}/${sha256}/${name}`

/**
 * Returns why a file does not match its name, or null. The script may have written it, so it is untrusted.
 *
 * @param by the player whose job it is, and the decoder of pictures
 */
export async function refuse(
  folder: string,
  name: ArtifactName,
  by: { images: Images; owner: string },
): Promise<string | null> {
  const file = join(folder, name)
  const { size } = await stat(file)
  if (name === 'inspection.json') {
    if (size > LONGEST_INSPECTION) return 'is too long'
    try {
      const parsed = JSON.parse(await readFile(file, 'utf8'))
      return typeof parsed?.totals?.triangles === 'number' ? null : 'is no inspection'
    } catch {
      return 'is no JSON'
    }
  }
  if (name === 'preview.png') return size <= LARGEST_PREVIEW && (await isPicture(file, by)) ? null : 'is no picture'
  const head = Buffer.alloc(12)
  const handle = await open(file)
  try {
    await handle.read(head, 0, 12, 0)
  } finally {
    await handle.close()
  }
  if (name === 'model.glb') {
    const glb = head.toString('latin1', 0, 4) === 'glTF' && head.readUInt32LE(4) === 2 && head.readUInt32LE(8) === size
    return glb ? null : 'is no binary glTF 2.0'
  }
  // Blender saves files plain, or compressed with Zstandard or gzip, depending on its version.
  const blend = head.toString('latin1', 0, 7) === 'BLENDER'
  const packed = head.readUInt32BE(0) === 0x28b52ffd || head.readUInt16BE(0) === 0x1f8b
  return blend || packed ? null : 'is no Blender file'
}

/** Whether a file is a PNG of at most 1024 × 1024 pixels that can be decoded. */
async function isPicture(file: string, { images, owner }: { images: Images; owner: string }): Promise<boolean> {
  const bytes = await readFile(file)
  if (!bytes.subarray(0, 8).equals(PNG)) return false
  const task = { bytes, most: { side: LONGEST_SIDE, pixels: LONGEST_SIDE ** 2 }, leastSide: 1 }
  try {
    await images.resize({ ...task, side: 16, fit: 'inside', format: 'png' }, { owner, background: true })
    return true
  } catch (error) {
    if (error instanceof ImageRefusal) return false
    throw error
  }
}

/** Stores a file of a run permanently. */
export async function store(
  storage: Pick<Storage, 'put'>,
  { jobId, folder, name }: { jobId: string; folder: string; name: ArtifactName },
): Promise<Artifact> {
  const file = join(folder, name)
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of createReadStream(file)) {
    hash.update(chunk)
    size += chunk.length
  }
  const artifact = { name, size, contentType: TYPES[name], sha256: hash.digest('hex') }
  const content = createReadStream(file)
  try {
    await storage.put(artifactKey(jobId, artifact), content, artifact)
  } finally {
    content.destroy() // a storage that refuses early leaves the file open
  }
  return artifact
}

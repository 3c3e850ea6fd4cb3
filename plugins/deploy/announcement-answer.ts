import type { Database } from '../../core/data/database.ts'
import { NotFound } from '../../core/errors.ts'
import type { BegunDeploy } from './begin-deploy.ts'
import { knownBlobs } from './blobs/known-blobs.ts'
import type { BundleAddresses } from './bundle/bundle-address.ts'
import { type DeployRow, uploaderOf } from './entities.ts'
import type { Manifests } from './manifest/manifests.ts'
import type { NewFile, StartedDeploy } from './schemas.ts'
import type { Uploads } from './uploads/uploads.ts'

interface Addresses {
  uploads: Pick<Uploads, 'presignAll'>
  bundles: Pick<BundleAddresses, 'presign'>
}

/** Returns a deploy that has begun, with the upload addresses of its missing files. @param files all of its files */
export async function startedDeploy(
  { uploads: addresses, bundles }: Addresses,
  { deployId, wanted, expiresAt, unchanged }: BegunDeploy,
  files: readonly NewFile[],
): Promise<StartedDeploy> {
  const uploads = await addresses.presignAll(deployId, wanted, expiresAt)
  const contents = new Map(files.map((file) => [file.sha256, file]))
  const bundle = wanted.length > 0 ? { bundle: bundles.presign(deployId, contents.values(), expiresAt) } : {}
  return { deployId, uploads, ...bundle, expiresAt: expiresAt.toISOString(), unchanged }
}

/** Returns an open deploy in the same form, for the files that its maker does not have. @throws NotFound */
export async function resumedDeploy(
  deploys: Addresses & { manifests: Pick<Manifests, 'contentsOf'> },
  db: Database,
  deploy: DeployRow,
): Promise<StartedDeploy> {
  const { id: deployId, expiresAt, unchangedCount: unchanged } = deploy
  const contents = await deploys.manifests.contentsOf(deployId)
  if (!contents) throw new NotFound('deploy')
  const known = await knownBlobs((sql, values) => db.query(sql, values), uploaderOf(deploy), [...contents.keys()])
  const files = Array.from(contents, ([sha256, file]) => ({ sha256, ...file }))
  const wanted = files.filter(({ sha256 }) => !known.has(sha256))
  return startedDeploy(deploys, { deployId, wanted, expiresAt, unchanged }, files)
}

import { isPlatformError, StartupError, StorageFull } from '../../core/errors.ts'
import { BlobNotFound, StorageUnavailable } from './interface.ts'

interface SdkError extends Error {
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** Translates an error of the SDK into one of the family's errors. */
export function translate(error: unknown, key: string): unknown {
  if (isPlatformError(error)) return error
  const { name, $metadata } = error as SdkError
  if (name === 'NoSuchKey' || name === 'NotFound') return new BlobNotFound(key)
  if ($metadata?.httpStatusCode === 507 || /^(QuotaExceeded|EntityTooLarge|XMinioStorageFull)/.test(name))
    return new StorageFull().with({ cause: error })
  return new StorageUnavailable().with({ cause: error })
}

const hasStatus = (status: number) => (error: unknown) =>
  error instanceof StorageUnavailable && (error.cause as SdkError)?.$metadata?.httpStatusCode === status
export const isInvalidRange = hasStatus(416)
export const isPreconditionFailed = hasStatus(412)
export const isNotFound = hasStatus(404)

export function nullWhenNotFound(error: unknown): null {
  if (error instanceof BlobNotFound) return null
  throw error
}

/** Explains in one sentence why the storage can't be opened, and what to do. */
export function unusable(
  { bucket, endpoint = 'Amazon S3' }: { bucket: string; endpoint?: string },
  error: unknown,
): StartupError {
  const { name, code, $metadata } = error as SdkError
  const status = $metadata?.httpStatusCode
  if (status === 404)
    return new StartupError(`There is no bucket ${bucket} at ${endpoint}; create it, or correct storage.bucket.`)
  if (status === 401 || status === 403)
    return new StartupError(
      `${endpoint} refuses the credentials for bucket ${bucket}; check storage.accessKeyId and storage.secretAccessKey.`,
    )
  if (status === 301)
    return new StartupError(`The bucket ${bucket} is in another region; correct storage.region or storage.endpoint.`)
  if (/CERT|UNABLE_TO_VERIFY|ALTNAME/.test(code ?? ''))
    return new StartupError(
      `The certificate of the storage at ${endpoint} is not trusted (${code}); name the server as in its certificate, and the authority with storage.ca: { file: ca.pem }.`,
    )
  return new StartupError(`The storage at ${endpoint} does not answer (${code ?? name}); check storage.endpoint.`)
}

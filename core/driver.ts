import type { FastifyBaseLogger } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { Clock } from './clock.ts'

/** The kernel's services for a driver, in addition to the driver's own configuration. */
export interface DriverContext {
  /** Absolute path of the data folder. A driver stores its files in its own folder below it. */
  dataDir: string
  /** Public address of the portal without a trailing slash, the base of URLs that a driver returns. */
  portalUrl: string
  clock: Clock
  log: FastifyBaseLogger
  /**
   * Derives a secret of 32 bytes for one purpose. It is the same on every node and after every restart.
   *
   * @param purpose names the use, such as `storage/local/presign`; different purposes yield unrelated secrets
   */
  secret(purpose: string): Buffer
  /**
   * Loads the program of a worker thread of a built-in driver, by the name of its file in `drivers/<family>/workers/`.
   * Absent in commands without a server, whose drivers work without threads.
   */
  workerProgram?(name: string): Promise<string>
}

/**
 * The complete contract of a driver.
 *
 * A family is a replaceable part of the platform (`storage`, `database`, `bus`, …). Its interface, its conformance
 * suite and the built-in drivers are in `drivers/<family>/`. The configuration chooses by name: `storage: { driver: s3,
 * bucket: games }`. A name that is no built-in is imported as a package or, when it starts with `.` or `/`, as a file
 * relative to the configuration. It must default-export the result of `defineDriver`.
 *
 * Life cycle: `config` validates the section (without `driver`) and fills in defaults. `create` opens the connection or
 * folder and rejects when it can't be used. The family's `close()` is called once, after the last request.
 */
export interface Driver<Schema extends TObject = TObject, Instance = unknown> {
  family: string
  name: string
  /** Schema of the driver's section of the configuration; it refuses unknown keys. */
  config: Schema
  /**
   * Checks what the schema can't say, such as keys that contradict each other, without connecting to anything. `create`
   * makes the same checks. `gameyard config check` and every start call it.
   *
   * @throws StartupError with one sentence that begins with the key
   */
  check?(config: Static<Schema>): void
  create(config: Static<Schema>, context: DriverContext): Promise<Instance>
}

/** Declares a driver, and infers the type of its configuration for `create`. */
export function defineDriver<Schema extends TObject, Instance>(
  driver: Driver<Schema, Instance>,
): Driver<Schema, Instance> {
  return driver
}

/**
 * A family as the program lists it. A built-in is loaded only when the configuration names it, so that an unused SDK
 * adds nothing to the start time.
 */
export interface DriverFamily {
  name: string
  /** The family that its drivers declare, where it is another one: `aiImage` takes drivers of `ai`. */
  driversOf?: string
  /** The built-in driver of a configuration without this section. */
  default: string
  builtins: Record<string, () => Promise<{ default: AnyDriver }>>
}

/** A driver of any family and configuration. */
export type AnyDriver = Omit<Driver, 'create' | 'check'> & {
  check?(config: never): void
  create(config: never, context: DriverContext): Promise<unknown>
}

/** A driver that the configuration selects, with its validated section. */
export interface ChosenDriver {
  driver: AnyDriver
  config: unknown
}

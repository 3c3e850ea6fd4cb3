import type { Statements } from '../../../core/data/database.ts'
import type { Apps } from '../apps/apps.ts'
import type { Approval, DeviceRequest } from './device-codes.ts'

/** A program of the platform itself that signs in by the device flow, and its credential. */
export interface BuiltinClient {
  clientId: string
  name: string
  /**
   * Creates its credential in the transaction that consumes the approval.
   *
   * @returns the credential, which is not stored
   */
  issue(statements: Statements, approval: Approval & { request: DeviceRequest }): Promise<{ accessToken: string }>
}

/**
 * Public clients that other plugins add. They have no application and no redirect URI, and use only the device flow.
 */
export class BuiltinClients {
  readonly #apps: Apps
  readonly #clients = new Map<string, BuiltinClient>()

  constructor(apps: Apps) {
    this.#apps = apps
  }

  add(client: BuiltinClient): void {
    this.#apps.addBuiltin(client)
    this.#clients.set(client.clientId, client)
  }

  has(clientId: string): boolean {
    return this.#clients.has(clientId)
  }

  get(clientId: string): BuiltinClient | undefined {
    return this.#clients.get(clientId)
  }
}

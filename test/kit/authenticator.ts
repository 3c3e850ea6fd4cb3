import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

interface Options {
  challenge: string
}

/** A device with one passkey (WebAuthn, ES256), for tests without a browser. Its signature counter is the test's. */
export class Authenticator {
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #id = randomBytes(32)
  readonly #origin: string

  /** @param origin of the portal */
  constructor(origin: string) {
    this.#origin = origin
  }

  /** Returns what a browser sends to register the passkey. */
  create({ challenge }: Options, counter: number) {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    const key = Buffer.concat([
      // The COSE key: kty 2, alg -7, crv 1, x and y (RFC 9052, RFC 9053).
      Buffer.from('a5010203262001215820', 'hex'),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ])
    const data = Buffer.concat([this.#data(0x45, counter), Buffer.alloc(16), Buffer.from([0, 32]), this.#id, key])
    // A map of `fmt`, `attStmt` and `authData` in CBOR.
    const head = Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746158', 'hex')
    const attestationObject = Buffer.concat([head, Buffer.from([data.length]), data]).toString('base64url')
    return this.#credential({
      attestationObject,
      clientDataJSON: this.#clientData('create', challenge),
      transports: [],
    })
  }

  /** Returns what a browser sends to sign in with the passkey. */
  get({ challenge }: Options, counter: number) {
    const clientDataJSON = this.#clientData('get', challenge)
    const data = this.#data(0x05, counter)
    const signed = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, 'base64url'))])
    const signature = sign('sha256', signed, this.#keys.privateKey).toString('base64url')
    return this.#credential({ authenticatorData: data.toString('base64url'), clientDataJSON, signature })
  }

  #credential(response: object) {
    const id = this.#id.toString('base64url')
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #clientData(type: 'create' | 'get', challenge: string): string {
    const data = { type: `webauthn.${type}`, challenge, origin: this.#origin, crossOrigin: false }
    return Buffer.from(JSON.stringify(data)).toString('base64url')
  }

  /** Returns the beginning of the authenticator data: relying party, flags, counter. */
  #data(flags: number, counter: number): Buffer {
    const bytes = Buffer.alloc(5)
    bytes.writeUInt8(flags)
    bytes.writeUInt32BE(counter, 1)
    return Buffer.concat([sha256(new URL(this.#origin).hostname), bytes])
  }
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

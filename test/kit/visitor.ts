import { ask, type HttpAnswer } from './upload.ts'

/** A browser without pages for a server in a separate process. It stores each site's cookies and tracks its address. */
export class Visitor {
  readonly #jars: Map<string, Map<string, string>>
  readonly #port: number | undefined

  constructor(jars = new Map<string, Map<string, string>>(), port?: number) {
    this.#jars = jars
    this.#port = port
  }

  /** Returns the same browser with all requests sent to one port: to a node behind a proxy. */
  at(port: number): Visitor {
    return new Visitor(this.#jars, port)
  }

  /** Returns the `Cookie` header of a site, given its origin or any address there. */
  cookies(url: string): string {
    return [...this.#jar(url)].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  get = (url: string) => this.request('GET', url)
  post = (url: string, body: object = {}) => this.request('POST', url, body)
  patch = (url: string, body: object) => this.request('PATCH', url, body)
  delete = (url: string) => this.request('DELETE', url)

  /** Posts a form. */
  submit(url: string, fields: Record<string, string>): Promise<HttpAnswer> {
    return this.request('POST', url, new URLSearchParams(fields).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
    })
  }

  /** Sends a request and follows redirects to any site. @returns the last response and its address */
  async follow(url: string): Promise<HttpAnswer & { url: string }> {
    for (let hops = 0; hops < 10; hops++) {
      const answer = await this.get(url)
      const { location } = answer.headers
      if (answer.status < 300 || answer.status > 399 || typeof location !== 'string') return { ...answer, url }
      url = new URL(location, url).href
    }
    throw new Error(`${url} leads nowhere.`)
  }

  async request(
    method: string,
    url: string,
    body?: string | object,
    headers: Record<string, string> = {},
  ): Promise<HttpAnswer> {
    const cookie = this.cookies(url)
    const answer = await ask(method, url, {
      port: this.#port,
      headers: { origin: new URL(url).origin, ...(cookie ? { cookie } : {}), ...headers },
      ...(body === undefined ? {} : { body }),
    })
    const jar = this.#jar(url)
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/;\s*max-age=0/i.test(line) || value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }

  #jar(url: string): Map<string, string> {
    // Cookies ignore ports.
    const { hostname } = new URL(url)
    const jar = this.#jars.get(hostname) ?? new Map()
    this.#jars.set(hostname, jar)
    return jar
  }
}

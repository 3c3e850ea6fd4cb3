import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { type Answer as DnsAnswer, decode, encode, type Question } from 'dns-packet'
import type { Test } from 'tap'

type Kind = 'A' | 'AAAA' | 'CNAME' | 'TXT'

/** The flags of a DNS header (RFC 1035, section 4.1.1). */
const AUTHORITATIVE = 1 << 10
const SERVFAIL = 2
const NXDOMAIN = 3

/**
 * Starts a real DNS server over UDP on a free port of 127.0.0.1, authoritative for the names in its zone. It ends with
 * the test.
 */
export async function startDns(t: Test) {
  const zone = new Map<string, string[]>()
  const asked: string[] = []
  const state = { broken: false }
  const socket = createSocket('udp4')
  const keyOf = (type: string, name: string) => `${type} ${name.toLowerCase()}`
  const known = (name: string) => [...zone.keys()].some((key) => key.endsWith(` ${name.toLowerCase()}`))

  /** Answers a question. It follows aliases as a resolver would. */
  const answersTo = (type: string, name: string): DnsAnswer[] => {
    const own = (zone.get(keyOf(type, name)) ?? []).map((data) => ({ type: type as 'A', name, ttl: 60, data }))
    const [alias] = type === 'CNAME' ? [] : (zone.get(keyOf('CNAME', name)) ?? [])
    if (alias === undefined) return own
    return [{ type: 'CNAME', name, ttl: 60, data: alias }, ...answersTo(type, alias)]
  }

  socket.on('message', (message, { address, port }) => {
    const { id = 0, questions = [] } = decode(message)
    const [{ type, name }] = questions as [Question]
    asked.push(keyOf(type, name))
    const code = state.broken ? SERVFAIL : known(name) ? 0 : NXDOMAIN
    const answers = state.broken ? [] : answersTo(type, name)
    socket.send(encode({ type: 'response', id, flags: AUTHORITATIVE | code, questions, answers }), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))

  return {
    /** The value for `plugins.domains.resolvers`. */
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    /** All questions so far, as `TXT name`. */
    asked,
    /** Replaces the records of a type and name. */
    set: (type: Kind, name: string, ...values: string[]) => void zone.set(keyOf(type, name), values),
    remove: (type: Kind, name: string) => void zone.delete(keyOf(type, name)),
    /** Makes the server answer SERVFAIL from now on. */
    break: (broken: boolean) => {
      state.broken = broken
    },
  }
}

export type Dns = Awaited<ReturnType<typeof startDns>>

/** Adds every record that the platform requests for a domain to the zone. */
export function publish(dns: Dns, records: { type: string; name: string; value: string }[]): void {
  for (const { type, name, value } of records) dns.set(type === 'ALIAS' ? 'CNAME' : (type as Kind), name, value)
}

import Type, { type Static } from 'typebox'
import { pageOf } from '../../core/http/pagination.ts'

/** The plugin's part of the configuration. */
export const DomainsConfig = Type.Object(
  {
    resolvers: Type.Array(Type.String({ pattern: '^[0-9a-fA-F.:[\\]]+$' }), {
      default: [],
      description: 'DNS servers to ask, by address, such as 1.1.1.1 or 127.0.0.1:5353; none for those of the system.',
    }),
    graceDays: Type.Integer({
      default: 7,
      minimum: 0,
      description: 'For how many days a domain works after its TXT record is gone.',
    }),
  },
  { default: {}, description: "Games at domains of their owners' own." },
)
export type DomainsConfig = Static<typeof DomainsConfig>

export const domainsLimits = {
  domainsPerGame: Type.Integer({ default: 5, minimum: 0, description: 'Domains of one game, verified or not.' }),
}

const Instant = Type.String({ format: 'date-time' })
const Later = Type.Union([Instant, Type.Null()])

/** A record to add to the DNS. */
const DnsRecord = Type.Object({
  type: Type.Union([Type.Literal('TXT'), Type.Literal('CNAME'), Type.Literal('ALIAS')], {
    description: 'ALIAS (also called ANAME or flattened CNAME) for a domain without a name before it.',
  }),
  name: Type.String(),
  value: Type.String(),
})

/** A domain in the form of the API. */
export const Domain = Type.Object({
  name: Type.String({ description: 'Lower case, in ASCII.' }),
  url: Type.String({ description: 'Where the game is once the domain is verified.' }),
  state: Type.Union([Type.Literal('pending'), Type.Literal('verified'), Type.Literal('failing')], {
    description: 'failing: the TXT record is gone; the domain works until `offAt`.',
  }),
  primary: Type.Boolean({ description: "The game's main address, to which all its others lead." }),
  records: Type.Array(DnsRecord, { description: 'The DNS records that the domain needs: the proof, and the address.' }),
  proof: Type.Union([Type.Enum(['found', 'missing', 'wrong', 'taken', 'unreachable']), Type.Null()], {
    description: 'The TXT record as it was last looked up. taken: found, but the domain belongs to another game.',
  }),
  address: Type.Union([Type.Enum(['here', 'elsewhere', 'missing', 'unreachable']), Type.Null()], {
    description: 'Where the name led then. `elsewhere` is right for a name behind a proxy of your own.',
  }),
  checkedAt: Later,
  verifiedAt: Later,
  offAt: Later,
  createdAt: Instant,
})

export type Domain = Static<typeof Domain>

export const DomainList = pageOf('domains', Domain)
export const NewDomain = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 300, description: 'Such as play.example.com.' }),
})
export const DomainChanges = Type.Object({ primary: Type.Boolean() })

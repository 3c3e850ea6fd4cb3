import type { Api } from './api.ts'

/** A domain of a game as the platform describes it. */
export interface Domain {
  name: string
  url: string
  state: 'pending' | 'verified' | 'failing'
  primary: boolean
  records: { type: string; name: string; value: string }[]
  proof: 'found' | 'missing' | 'wrong' | 'taken' | 'unreachable' | null
  address: 'here' | 'elsewhere' | 'missing' | 'unreachable' | null
  checkedAt: string | null
  verifiedAt: string | null
  offAt: string | null
  createdAt: string
}

const pathOf = (gameId: string, name?: string) =>
  `/api/games/${encodeURIComponent(gameId)}/domains${name === undefined ? '' : `/${encodeURIComponent(name)}`}`

export const listDomains = (api: Api, gameId: string): Promise<Domain[]> => api.all<Domain>(pathOf(gameId), 'domains')

export const addDomain = (api: Api, gameId: string, name: string): Promise<Domain> =>
  api.post<Domain>(pathOf(gameId), { name })

/** Makes the platform check the DNS now. */
export const verifyDomain = (api: Api, gameId: string, name: string): Promise<Domain> =>
  api.post<Domain>(`${pathOf(gameId, name)}/verify`, undefined, { repeatable: true })

export const setPrimaryDomain = (api: Api, gameId: string, name: string, primary: boolean): Promise<Domain> =>
  api.patch<Domain>(pathOf(gameId, name), { primary })

export const removeDomain = (api: Api, gameId: string, name: string): Promise<void> => api.delete(pathOf(gameId, name))

/** Describes the next step in a sentence; null when there is none. */
export function todoOf({ state, proof, address, offAt }: Domain): string | null {
  if (proof === 'unreachable') return 'the name servers of the domain gave no answer'
  if (proof === 'taken') return 'another game has it, and its proof is in the DNS as well'
  if (state === 'failing') return `its TXT record has gone; served until ${offAt}`
  if (state === 'pending')
    return proof === 'wrong' ? 'its TXT record has another text' : 'its TXT record is not there yet'
  if (address === 'missing') return 'it has no address yet: add the second record'
  return address === 'elsewhere' ? 'it leads to another server, which is right only for a proxy of your own' : null
}

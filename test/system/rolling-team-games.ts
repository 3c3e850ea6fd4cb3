// The private games of teams during a rolling update: what people do with them at one node, and what all nodes must say.
import { timeLimit } from '../kit/time-limit.ts'
import type { HttpAnswer } from '../kit/upload.ts'
import type { Person } from './rolling-team-people.ts'

/** What a node remembers may be this old, where an event did not reach it. */
const STALE_SECONDS = 6
const BOARD = 'high'

/** A private game with everybody who has to do with it, and everything that a node has acknowledged. */
export class TeamGame {
  readonly id: string
  readonly slug: string
  owner: Person
  readonly makers = new Set<Person>()
  readonly testers = new Set<Person>()
  /** Those who are nothing in it, or no longer. */
  readonly strangers: Set<Person>
  /** The title of the live deploy. */
  liveTitle = ''
  /** The title of each deploy by its id. */
  readonly titles = new Map<string, string>()
  /** The save and the score of each who has played. */
  readonly saves = new Map<Person, string>()
  readonly scores = new Map<Person, number>()

  private constructor({ id, slug }: { id: string; slug: string }, owner: Person, strangers: Iterable<Person>) {
    this.id = id
    this.slug = slug
    this.owner = owner
    this.strangers = new Set(strangers)
  }

  /** Creates a game at a node. @param strangers everybody else */
  static async create(
    title: string,
    { owner, node, strangers }: { owner: Person; node: number; strangers: Iterable<Person> },
  ): Promise<TeamGame> {
    const fields = { title, description: 'A game of several makers.', visibility: 'private' }
    const { body } = must(201, await owner.at(node).api('POST', '/api/games', fields))
    const game = new TeamGame(body, owner, strangers)
    must(201, await owner.at(node).api('PUT', `/api/games/${game.id}/boards/${BOARD}`, { title: 'High scores' }))
    await game.deploy(owner, node)
    return game
  }

  async deploy(person: Person, node: number): Promise<string> {
    const title = `${this.slug} ${this.titles.size + 1}`
    const { status, deployId } = await person.at(node).deploy(this.id, title)
    if (status !== 200) throw new Error(`${person.name} deploys: ${status}`)
    this.titles.set(deployId, title)
    this.liveTitle = title
    return deployId
  }

  async rollBack(person: Person, node: number, deployId: string): Promise<void> {
    must(200, await person.at(node).api('POST', `/api/deploy/${deployId}/rollback`))
    this.liveTitle = this.titles.get(deployId) as string
  }

  /** Signs in to the game if need be, saves, and scores more than before. */
  async play(person: Person, node: number): Promise<void> {
    const at = person.at(node)
    if (!this.saves.has(person)) must(200, await at.enter(this.slug))
    const score = (this.scores.get(person) ?? 0) + 1
    const text = `${person.name} ${score}`
    must([200, 201], await at.inGame(this.slug, 'PUT', '/__service/saves/slot', text))
    this.saves.set(person, text)
    must(200, await at.inGame(this.slug, 'POST', `/__service/scores/${BOARD}`, { score }))
    this.scores.set(person, score)
  }

  /** Makes the link of the earlier version, at a node of that version. @returns its path */
  async makeLink(node: number): Promise<string> {
    const at = this.owner.at(node)
    must(303, await at.submit(`/games/${this.slug}/settings/invitations`, { do: 'renew' }))
    const { body } = must(200, await at.page(`/games/${this.slug}/settings`))
    return new URL(new RegExp(`http[^<"]*/games/${this.slug}/join/[\\w-]+`).exec(body)?.[0] as string).pathname
  }

  /** Ends the link and everybody's admission, at a node of the earlier version. */
  async uninviteAll(node: number): Promise<void> {
    must(303, await this.owner.at(node).submit(`/games/${this.slug}/settings/invitations`, { do: 'revoke' }))
    for (const person of this.testers) this.#move(person, this.strangers)
  }

  async joinByLink(person: Person, node: number, link: string): Promise<void> {
    must(303, await person.at(node).submit(link))
    if (!this.makers.has(person)) this.#move(person, this.testers)
  }

  /** Invites a player by name and accepts the invitation, at a node of this version. */
  async admit(person: Person, role: Role, node: number): Promise<void> {
    const invitation = { role, playerId: person.id }
    const { body } = must(201, await this.owner.at(node).api('POST', `/api/games/${this.id}/invitations`, invitation))
    must(303, await person.at(node).submit(new URL(body.url).pathname))
    this.#move(person, role === 'maker' ? this.makers : this.testers)
  }

  async changeRole(person: Person, role: Role, node: number): Promise<void> {
    must(204, await this.owner.at(node).api('PATCH', this.#memberPath(person), { role }))
    this.#move(person, role === 'maker' ? this.makers : this.testers)
  }

  /** Ends a membership. @param by the owner or the member */
  async remove(person: Person, by: Person, node: number): Promise<void> {
    must(204, await by.at(node).api('DELETE', this.#memberPath(person)))
    this.#move(person, this.strangers)
  }

  /** Offers the game to a maker, who accepts. */
  async transfer(to: Person, node: number): Promise<void> {
    const path = `/api/games/${this.id}/transfer`
    must(201, await this.owner.at(node).api('POST', path, { playerId: to.id }))
    must(204, await to.at(node).api('POST', `${path}/accept`))
    this.makers.delete(to)
    this.makers.add(this.owner)
    this.owner = to
  }

  /** Forgets a person whose account has ended. */
  forget(person: Person): void {
    for (const set of [this.makers, this.testers, this.strangers]) set.delete(person)
    this.saves.delete(person)
    this.scores.delete(person)
  }

  /**
   * Compares what a node says with what must be so, until it is, for as long as a node may remember something old.
   *
   * @param isNew whether the node knows of members; one of the version before knows only owner and invited players
   * @returns what differs
   */
  async differences(node: number, isNew: boolean): Promise<string[]> {
    const deadline = performance.now() + timeLimit(STALE_SECONDS)
    for (;;) {
      const isLast = performance.now() > deadline
      const found = await this.#differencesNow(node, isNew)
      if (found.length === 0 || isLast) return found
    }
  }

  async #differencesNow(node: number, isNew: boolean): Promise<string[]> {
    const found: string[] = []
    const expect = (actual: unknown, wanted: unknown, what: string) => {
      const [is, should] = [JSON.stringify(actual), JSON.stringify(wanted)]
      if (is !== should) found.push(`${this.slug}, node ${node}, ${what}: ${is}, not ${should}`)
    }
    for (const person of [this.owner, ...this.makers, ...this.testers, ...this.strangers]) {
      const { name } = person
      const at = person.at(node)
      const isOwner = person === this.owner
      const makes = isOwner || (isNew && this.makers.has(person))
      const plays = makes || this.testers.has(person)
      expect((await at.page('/api/auth/session')).body.user?.id, person.id, `${name} is signed in`)
      const record = await at.api('GET', `/api/games/${this.id}`)
      expect(record.status, makes ? 200 : 404, `${name} reads the record`)
      if (makes) expect(record.body.ownerId, this.owner.id, 'the owner')
      if (makes && isNew) expect(record.body.role, isOwner ? 'owner' : 'maker', `the role of ${name}`)
      expect((await at.page(`/games/${this.slug}`)).status, plays ? 200 : 404, `${name} opens the page`)
      for (const page of ['overview', 'deploys', 'settings'])
        expect((await at.page(`/games/${this.slug}/${page}`)).status, makes ? 200 : 404, `${name} opens ${page}`)
      // Whoever has played has a session in the game.
      if (!this.saves.has(person)) continue
      const { status, body } = await at.inGame(this.slug, 'GET', '/')
      const title = status === 200 && /<title>(.*)<\/title>/.exec(body)?.[1]
      expect(title, plays && this.liveTitle, `${name} loads the game`)
      const save = await at.inGame(this.slug, 'GET', '/__service/saves/slot')
      expect(save.status === 200 && save.body, plays && this.saves.get(person), `the save of ${name}`)
    }
    const owner = this.owner.at(node)
    const { body: listed } = await owner.api('GET', `/api/games/${this.id}/deploys?limit=100`)
    const deploys = (listed.deploys ?? []).map(({ id }: { id: string }) => id)
    expect(deploys.toSorted(), [...this.titles.keys()].toSorted(), 'all deploys')
    const { body: board } = await owner.api('GET', `/api/games/${this.id}/boards/${BOARD}/scores`)
    const shown = (board.entries ?? []).map(({ player, score }: Score) => `${player.name} ${score}`)
    const scores = Array.from(this.scores, ([{ name }, score]) => `${name} ${score}`)
    expect(shown.toSorted(), scores.toSorted(), 'all scores')
    if (isNew) {
      const { body } = await owner.api('GET', `/api/games/${this.id}/members`)
      const members = (body.members ?? []).map(({ role, player }: Member) => `${role} ${player.name}`)
      expect(members.toSorted(), this.#members().toSorted(), 'the members')
    }
    return found
  }

  #members(): string[] {
    const named = (role: string, people: Iterable<Person>) => Array.from(people, ({ name }) => `${role} ${name}`)
    return [...named('owner', [this.owner]), ...named('maker', this.makers), ...named('tester', this.testers)]
  }

  #memberPath = ({ id }: Person) => `/api/games/${this.id}/members/${id}`

  #move(person: Person, to: Set<Person>): void {
    for (const set of [this.makers, this.testers, this.strangers]) set.delete(person)
    to.add(person)
  }
}

type Role = 'maker' | 'tester'
interface Member {
  role: string
  player: { name: string }
}
interface Score {
  player: { name: string }
  score: number
}

/** Returns an answer that has one of the statuses. */
export function must(status: number | number[], answer: HttpAnswer): HttpAnswer {
  if ([status].flat().includes(answer.status)) return answer
  throw new Error(`${answer.status}, not ${status}: ${JSON.stringify(answer.body).slice(0, 500)}`)
}

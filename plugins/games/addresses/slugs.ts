import type { SqlEntityManager } from '@mikro-orm/sql'
import { randomText } from '../../../core/ids.ts'
import { slugWords } from '../../../core/slug-words.ts'
import { GameSlug } from '../entities.ts'
import { SlugReserved, SlugTaken, TooManyReserved, TooManySlugs } from '../errors.ts'

/** The time for which a freed slug is reserved, because browsers of its players still hold its storage and workers. */
export const SLUG_REST_MS = 90 * 24 * 60 * 60 * 1000

/**
 * The maximum length: `<slug>--<short deploy id>` must fit into a DNS label of 63 characters, and `-<number>` into the
 * slug.
 */
const LONGEST_MADE = 44

/** The maximum number of reserved former slugs of one game. */
const MOST_RESTING = 5

/** Names that look like a part of the platform, or that mail and browsers treat specially. */
const RESERVED = new Set(
  `about account accounts admin administrator api app apps asset assets auth autoconfig autodiscover billing blog cdn
  cli cluster community config console dashboard deploy dev dns docs download downloads email example ftp gameyard git
  health healthz help home host hostmaster imap info internal invite isatap jobs legal live localhost login logout mail
  manage media metrics mp mta-sts mx news noreply ns ns1 ns2 oauth official openid pages panel pay payments platform
  play pop pop3 portal postmaster preview privacy prod proxy readyz redirect root sandbox secure security service
  settings shop sign-in sign-out sign-up signin signout signup sitemap smtp ssl staging static stats status store studio
  support sysadmin system test tests token tokens tos update updates upload user users verify web webhook webmail
  webmaster widget wpad ws www www1 www2`.split(/\s+/),
)

/** Similar characters are mapped to one: `adm1n`, `p0rtal`. */
const SKELETON: Record<string, string> = { 0: 'o', 1: 'l', 3: 'e', 4: 'a', 5: 's', 7: 't', i: 'l' }
const skeleton = (slug: string) =>
  slug.replaceAll('-', '').replace(/[013457i]/g, (letter) => SKELETON[letter] ?? letter)
const RESERVED_SKELETONS = new Set([...RESERVED].map(skeleton))

/** Whether a slug is reserved, or is easily mistaken for a reserved one. */
export const isReserved = (slug: string): boolean => RESERVED.has(slug) || RESERVED_SKELETONS.has(skeleton(slug))

/**
 * Derives a slug from a title: its words in `[a-z0-9]`, joined by single `-` (`--` separates slug and preview in a host
 * name). A title without any word, or one that yields a reserved name, still gets a slug.
 */
export function slugFrom(title: string): string {
  const slug = slugWords(title)
    .slice(0, LONGEST_MADE + 1)
    .replace(/^-+|-+$/g, '')
  const cut = slug.length > LONGEST_MADE ? slug.slice(0, LONGEST_MADE).replace(/-[^-]*$|-+$/, '') : slug
  if (!cut) return 'game'
  return isReserved(cut) ? `${cut}-game` : cut
}

/**
 * Takes the first free slug of `base`, `base-2`, `base-3`, … for a game, inside the caller's transaction. The primary
 * key decides between concurrent callers; the look-up before it only finds where to begin.
 *
 * @throws SlugTaken
 */
export async function claimSlug(em: SqlEntityManager, base: string, gameId: string, now: Date): Promise<string> {
  if (await take(em, base, gameId, now)) return base
  const taken = await em.find(
    GameSlug,
    { slug: { $like: `${base}-%` } },
    { fields: ['slug'], orderBy: { slug: 'asc' }, limit: 10_000 },
  )
  const numbers = taken.map(({ slug }) => Number(/^[1-9][0-9]{0,5}$/.exec(slug.slice(base.length + 1))?.[0] ?? 1))
  const next = Math.max(1, ...numbers) + 1
  for (let number = next; number < next + 20; number++) {
    if (await take(em, `${base}-${number}`, gameId, now)) return `${base}-${number}`
  }
  const random = `${base}-${Buffer.from(randomText(6)).toString('hex').slice(0, 10)}`
  if (await take(em, random, gameId, now)) return random
  throw new SlugTaken(base)
}

/**
 * Takes a slug that its owner chose for a new game, inside the caller's transaction.
 *
 * @throws SlugReserved, SlugTaken
 */
export async function chooseSlug(em: SqlEntityManager, slug: string, gameId: string, now: Date): Promise<string> {
  if (isReserved(slug)) throw new SlugReserved(slug).with(chosen('is reserved'))
  if (!(await take(em, slug, gameId, now))) throw new SlugTaken(slug).with(chosen('is taken'))
  return slug
}

/** Names the field in which an address was chosen. */
const chosen = (message: string) => ({ details: [{ path: 'slug', message }] })

/**
 * Moves a game to a slug that its owner chose. The old slug stays reserved, and meanwhile redirects to the new one.
 *
 * @throws SlugReserved, SlugTaken
 * @throws TooManySlugs since every move withholds an address from others for the time of the reservation
 */
export async function moveSlug(
  em: SqlEntityManager,
  { gameId, ownerId, from, to, now }: { gameId: string; ownerId: string; from: string; to: string; now: Date },
): Promise<void> {
  if (isReserved(to)) throw new SlugReserved(to).with(chosen('is reserved'))
  const rested = new Date(now.getTime() - SLUG_REST_MS)
  const resting = await em.count(GameSlug, { gameId, slug: { $ne: to }, freedAt: { $gt: rested } })
  if (resting >= MOST_RESTING) throw new TooManySlugs(MOST_RESTING)
  if (!(await take(em, to, gameId, now))) throw new SlugTaken(to).with(chosen('is taken'))
  await em.nativeUpdate(GameSlug, { slug: from, gameId }, { freedAt: now, freedBy: ownerId })
}

/**
 * Requires that a player withholds fewer addresses from others than one may, before another game or a move. The caller
 * holds the player's account, so that parallel requests count one after the other.
 *
 * @param most `limits.reservedSlugsPerPlayer`
 * @throws TooManyReserved
 */
export async function mustHaveSlugsLeft(
  em: SqlEntityManager,
  { ownerId, most, now }: { ownerId: string; most: number; now: Date },
): Promise<void> {
  const reserved = { freedBy: ownerId, freedAt: { $gt: new Date(now.getTime() - SLUG_REST_MS) } }
  if ((await em.count(GameSlug, reserved)) >= most) throw new TooManyReserved(most)
}

/** Gives a restored game its former slug. @returns whether no other game has it */
export const reclaimSlug = (em: SqlEntityManager, slug: string, gameId: string, now: Date): Promise<boolean> =>
  take(em, slug, gameId, now)

/** Takes a slug in one statement if it was never used, its reservation is over, or it was the game's own. */
async function take(em: SqlEntityManager, slug: string, gameId: string, now: Date): Promise<boolean> {
  if (isReserved(slug)) return false
  const rested = new Date(now.getTime() - SLUG_REST_MS)
  const result = await em.execute<{ affectedRows: number }>(
    `insert into game_slugs (slug, game_id, freed_at) values (?, ?, null)
     on conflict (slug) do update set game_id = excluded.game_id, freed_at = null, freed_by = null
     where game_slugs.freed_at is not null
       and (game_slugs.freed_at < ? or game_slugs.game_id = excluded.game_id)`,
    [slug, gameId, rested],
    'run',
  )
  return result.affectedRows === 1
}

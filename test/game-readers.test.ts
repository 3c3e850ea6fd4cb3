// Readers see games through the views of `GameLookup` and `Catalog`, which know suspension, deletion, approval and
// privacy. Each place that reads games without a view is here, with the reason why it shows nothing to the wrong person.
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '..')

/** The table of games, in SQL or by its entity. */
const TABLE = /\b(?:from|join|update|into)\s+games\b|\bGameRow\b/
/** The look-ups of `GameLookup` that know no viewer. */
const LOOK_UP = /\bgames\s*\.\s*(?:get|byId|byIds|bySlug|byClient|movedFrom|evenDeleted|byIdsEvenDeleted)\(/

const VIEW = 'It is the view.'
const OWNER = "It reads an owner's own games, for the owner."
const STAFF = 'It reads for staff, who see every game.'
const LOCK = 'It locks the row of a game and reads nothing of it.'
const NUMBERS = 'It adds up bytes or counts, and names no game.'
const CHANGES = "It changes games, or reads one in the change's transaction."
const OWN_WORK = "It is the platform's own work, of which nobody reads anything."
const CHECKED = 'It asks a view, or `visibleTo`, about what it has found, before anything is shown.'

/** Places that go around the views, by file. */
const AROUND: Record<string, string> = {
  'bin/commands/admin-reports.ts': STAFF,
  'plugins/ai/generations.ts': 'It takes the game of the caller, or of the application whose token it is.',
  'plugins/ai/spending.ts': NUMBERS,
  'plugins/assets/library.ts': NUMBERS,
  'plugins/assets/pages/game-choice.ts': CHECKED,
  'plugins/deploy/compression/compression.ts': OWN_WORK,
  'plugins/deploy/retention.ts': OWN_WORK,
  'plugins/deploy/room-script/room-scripts.ts': OWN_WORK,
  'plugins/deploy/stored-bytes.ts': NUMBERS,
  'plugins/domains/dns-checks.ts': OWN_WORK,
  'plugins/domains/domains.ts': STAFF,
  'plugins/domains/served-domains.ts': OWN_WORK,
  'plugins/editor/draft-source.ts': 'Previews of drafts are served by game-edge, which checks the game.',
  'plugins/editor/draft-store.ts': NUMBERS,
  'plugins/editor/export.ts': OWNER,
  'plugins/editor/stored-bytes.ts': NUMBERS,
  'plugins/game-edge/edge.ts': CHECKED,
  'plugins/game-edge/embedded/portal-routes.ts': CHECKED,
  'plugins/game-edge/files/routes.ts': CHECKED,
  'plugins/game-edge/files/sites.ts': 'It is a cache. The routes and the fast path ask about the game that it holds.',
  'plugins/game-edge/on-demand-tls.ts': 'A name gets a certificate or not; nothing of the game is said.',
  'plugins/game-errors/game-errors.ts': LOCK,
  'plugins/games/activity/activity.ts': OWNER,
  'plugins/games/activity/record.ts': CHANGES,
  'plugins/games/addresses/own-addresses.ts': OWN_WORK,
  'plugins/games/addresses/ports.ts': OWN_WORK,
  'plugins/games/administration.ts': STAFF,
  'plugins/games/analytics/write.ts': CHANGES,
  'plugins/games/approvals.ts': STAFF,
  'plugins/games/cards/routes.ts': CHECKED,
  'plugins/games/catalog/catalog.ts': VIEW,
  'plugins/games/catalog/sitemaps.ts': 'It uses the condition of the catalog.',
  'plugins/games/dashboard.ts': OWNER,
  'plugins/games/deletion.ts': CHANGES,
  'plugins/games/embed/oembed.ts': CHECKED,
  'plugins/games/entities.ts': 'It declares the table.',
  'plugins/games/game-lookup.ts': VIEW,
  'plugins/games/games.ts': CHANGES,
  'plugins/games/invitations.ts': 'Whoever has the link of a private game may see its name; the key is checked first.',
  'plugins/games/media/media.ts': CHECKED,
  'plugins/games/media/stored-bytes.ts': OWNER,
  'plugins/games/members/hand-over.ts': 'It changes the games of an owner whose account ends, or is disabled.',
  'plugins/games/members/invitations.ts': 'The key of the invitation is checked first, and whom it is for.',
  'plugins/games/members/members.ts': CHANGES,
  'plugins/games/members/ownership.ts': CHANGES,
  'plugins/games/pages/former-addresses.ts': CHECKED,
  'plugins/games/pages/hand-over.ts': STAFF,
  'plugins/games/pages/host.ts': STAFF,
  'plugins/games/pages/public.ts': CHECKED,
  'plugins/games/pages/staff-deletion.ts': STAFF,
  'plugins/games/quotas.ts': OWNER,
  'plugins/games/recheck.ts': VIEW,
  'plugins/games/suspension.ts': STAFF,
  'plugins/games/tables.ts': 'It lists the tables.',
  'plugins/jam/jams.ts': 'The organiser withdraws any game. A vote asks `shownIn`. In `entries` it is a map by id.',
  'plugins/jam/results.ts': 'Its games are a map by id, of games that the view has shown.',
  'plugins/moderation/pages/audit.ts': STAFF,
  'plugins/moderation/reports/targets.ts': STAFF,
  'plugins/multiplayer/admission/revalidation.ts': CHECKED,
  'plugins/multiplayer/script-logs/script-logs.ts': LOCK,
  'plugins/remix/remixes.ts': CHECKED,
  'plugins/saves/game-limits.ts': NUMBERS,
  'plugins/saves/owner-quota.ts': NUMBERS,
  'plugins/saves/player-saves.ts': 'It takes ids only; the titles come from `seenBy`.',
  'plugins/saves/removal.ts': NUMBERS,
  'plugins/saves/routes/api.ts': CHECKED,
  'plugins/scores/boards.ts': LOCK,
}

const sources = globSync('{bin,core,plugins}/**/*.ts', { cwd: root }).filter((file) => !file.includes('/migrations/'))

/** A source file without comments and imports. */
const codeOf = (file: string): string =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(\*|\/\/|\/\*|import |export .* from )/.test(line))
    .join('\n')

t.test('whoever reads games without a view is in the list, and gives a reason', (t) => {
  const around = sources.filter((file) => TABLE.test(codeOf(file)) || LOOK_UP.test(codeOf(file)))
  t.same(around.sort(), Object.keys(AROUND).sort())
  t.end()
})

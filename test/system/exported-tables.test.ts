// The data export has every table with the id of a player, or says here why it has not.
import t from 'tap'
import { PASSWORD, startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'

/** The exporter of each table. */
const EXPORTED: Record<string, string> = {
  ai_allowances: 'aiAllowances',
  ai_generations: 'aiGenerations',
  api_tokens: 'tokens',
  assets: 'assets',
  blender_generations: 'generatedAssets',
  blender_jobs: 'blenderJobs',
  credit_accounts: 'credits',
  credit_ledger: 'creditLedger',
  credit_purchases: 'creditPurchases',
  deploys: 'deploysInOthersGames',
  draft_files: 'drafts',
  drafts: 'drafts',
  game_activity: 'activityInOthersGames',
  game_invitations: 'invitations',
  game_members: 'memberships',
  games: 'games',
  jam_votes: 'jamVotes',
  oauth_apps: 'applications',
  oauth_consents: 'connectedGames',
  oauth_sign_ins: 'signIns',
  passkeys: 'passkeys',
  players: 'player',
  quota_accounts: 'quotas',
  quota_overrides: 'quotas',
  quota_stored_bytes: 'quotas',
  reports: 'reports',
  save_usage: 'saves',
  save_versions: 'saves',
  saves: 'saves',
  score_entries: 'scores',
  sessions: 'sessions',
  staff_messages: 'messages',
  upstream_accounts: 'connectedAccounts',
}

const CREDENTIAL = 'a credential of a minute to 30 days, stored as a hash; what it is for is in connectedGames'
const RESERVED = 'keeps an address of something deleted from others'
const LEFT_OUT: Record<string, string> = {
  ai_allowance_uses: 'repeats generations of the last day',
  audit: 'the record of the staff, which nothing changes or removes',
  authorization_codes: CREDENTIAL,
  background_jobs: 'work that waits, and is deleted when it is done',
  credit_holds: 'credits of work under way, which are part of the balance in credits',
  former_asset_slugs: RESERVED,
  frame_tickets: CREDENTIAL,
  game_remixes: 'where the game of somebody else came from',
  game_slugs: RESERVED,
  game_transfers: 'offers of a week; the game is in games or memberships, and each offer in activity',
  game_visitors: 'hashes of the day, which lead to nobody',
  oauth_access_tokens: CREDENTIAL,
  oauth_device_codes: CREDENTIAL,
  oauth_refresh_tokens: CREDENTIAL,
  one_time_tokens: CREDENTIAL,
  owner_blobs: 'digests of files that are in games and assets',
  player_news: 'which messages and invitations the player has not seen yet; they are in messages and invitations',
  quota_shared_blobs: 'digests of files that are in games and assets',
  report_decisions: 'notes of the staff; what they tell a player is in messages',
  score_exclusions: 'a decision of the owner of a game',
  score_submissions: 'ids that games made up, for 7 days; the scores are in scores',
}

/** Columns with ids of other things than players, and words that look like one. */
const OTHERS = new Set(
  [
    'asset_id base_deploy_id base_id category_id client_id consent_id cover_id decision_id deploy_id game_id generation_id',
    'grant_id jam_id job_id lease_id live_deploy_id overtaken_by_id pack_id payment_id purchase_id replaced_by_id room_id',
    'rp_id session_id source_game_id source_job_id made_by prepared_by',
  ].flatMap((line) => line.split(' ')),
)

const MAY_BE_A_PLAYER = /_id$|_by$|^owner$|^visitor$|^target$|email/

t.test('every table with the id of a player is in the data export, or has a reason why not', async (t) => {
  const { app } = await startPlatform(t)
  const { db, identity } = app
  const tables = await db.query<{ name: string }>("select name from sqlite_master where type = 'table' order by name")
  const personal: string[] = []
  for (const { name } of tables) {
    const columns = await db.query<{ name: string }>('select name from pragma_table_info(?)', [name])
    // The other id of an applied clip is that of an asset.
    const names = columns
      .map((column) => column.name)
      .filter((column) => `${name}.${column}` !== 'asset_applied_clips.from_id')
    if (names.some((column) => MAY_BE_A_PLAYER.test(column) && !OTHERS.has(column))) personal.push(name)
  }
  t.ok(personal.length > 40, `${personal.length} tables`)
  t.same([...Object.keys(EXPORTED), ...Object.keys(LEFT_OUT)].toSorted(), personal.toSorted())
  const named = new Set([...Object.values(EXPORTED), 'activity'])
  t.same([...named].toSorted(), [...identity.deletion.exporters.keys()].toSorted(), 'each exporter has a table')
})

t.test('PostgreSQL exports the same', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  const platform = await startPlatform(t, { config })
  const player = await platform.signUp()
  const { app } = platform
  await platform.game(player, { title: 'Pong' })
  await app.credits.grant(player.id, 5, { kind: 'grant', description: 'A gift', key: 'gift' })
  const sql = 'insert into oauth_sign_ins (client_id, date, player_id, count) values (?, ?, ?, 1)'
  for (let day = 1; day <= 101; day++)
    await app.db.execute(sql, ['client', `day ${String(day).padStart(3, '0')}`, player.id])
  const { status, body } = await player.get('/settings/export')
  t.equal(status, 200)
  t.same(Object.keys(body).slice(1), [...app.identity.deletion.exporters.keys()])
  t.equal(body.signIns.length, 101)
  t.match(body.creditLedger.at(-1), { description: 'Welcome' }, 'to the first')
  t.match(await app.identity.deletion.lossesOf(player.id), /^1 game and \d+ credits go, too\.$/)
  await app.identity.administration.setDisabled(player.id, true, { reason: 'Spam.' })
  const signIn = await platform.stranger.post('/api/auth/sign-in', { email: player.account.email, password: PASSWORD })
  t.match(signIn, { status: 403, body: { error: { message: /The reason: Spam\./ } } })
})

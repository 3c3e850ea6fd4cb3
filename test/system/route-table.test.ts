// Every route of the program: where it lives, whom it takes, and that it holds to it.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PrincipalKind } from '../../core/http/auth.ts'
import type { RouteEntry } from '../../core/http/routes.ts'
import { WorkerRow } from '../../plugins/blender/entities.ts'
import { ALL } from '../kit/extent.ts'
import { exchange, obtainCode, registerApp } from '../kit/oauth.ts'
import { type Answer, Client, type Platform, type RequestOptions, startPlatform } from '../kit/platform.ts'
import { sheet } from '../plugins/assets/models.ts'

/**
 * Written by hand from the specification and the contracts, so that a new route is a line here before it is public.
 *
 * method, path, origin, auth; then the kinds of principal where a scope alone does not say them, and
 * `page`: errors are pages, and whoever is not signed in is sent to sign in;
 * `same-origin`: takes nobody's credentials, but changes what the browser holds, so only our own pages may ask.
 */
const TABLE = `
GET    /healthz                                  any     none
GET    /readyz                                   any     none
GET    /metrics                                  any     none
GET    /__service/tls                            any     none
GET    /_assets/:file                            portal  none
GET    /openapi.json                             portal  none
GET    /docs/api                                 portal  optional page
GET    /docs/api/:group                          portal  optional page
GET    /docs                                     portal  optional page
GET    /docs/:name                               portal  optional page
GET    /favicon.ico                              portal  none
GET    /apple-touch-icon.png                     portal  none
GET    /manifest.webmanifest                     portal  none
GET    /robots.txt                               portal  none
GET    /sitemap.xml                              portal  none
GET    /sitemaps/:name/:part                     portal  none
GET    /feed.xml                                 portal  none
GET    /oembed                                   portal  none
GET    /card.png                                 portal  none
GET    /games/:slug/card.png                     portal  none
GET    /api/docs/search                          portal  none
GET    /join                                     portal  optional page
GET    /join/certificate                         portal  optional page
GET    /join/certificate/gameyard-lan.crt        portal  none
GET    /download                                 portal  optional page
GET    /download/gameyard                        portal  none
GET    /download/gameyard.exe                    portal  none
GET    /download/gameyard-adapter.tgz            portal  none
GET    /download/gameyard-browser.tgz            portal  none
GET    /download/gameyard-engines.tgz            portal  none
GET    /download/gameyard-room.tgz               portal  none
GET    /download/gameyard-sdk.tgz                portal  none
GET    /download/gameyard.sha256                 portal  none
GET    /jam                                      portal  optional page
POST   /jam                                      portal  session page
POST   /jam/settings                             portal  session page
POST   /jam/switch                               portal  session page
GET    /jam/results                              portal  optional page
GET    /jam/past                                 portal  optional page
GET    /jam/past/:jamId                          portal  optional page
GET    /live/jam                                 portal  none
POST   /jam/results                              portal  session page
POST   /jam/entries                              portal  session page
POST   /jam/entries/withdraw                     portal  session page
POST   /jam/votes                                portal  session page
GET    /api/jam                                  portal  optional
POST   /api/jam                                  portal  session
PATCH  /api/jam                                  portal  session
POST   /api/jam/entries                          portal  games:write api-token cli-token session
DELETE /api/jam/entries/:gameId                  portal  games:write api-token cli-token session
PUT    /api/jam/votes/:categoryId                portal  session
DELETE /api/jam/votes/:categoryId                portal  session
GET    /api/jam/results                          portal  none

POST   /api/auth/sign-up                         portal  none same-origin
POST   /api/auth/sign-in                         portal  none same-origin
POST   /api/auth/sign-out                        portal  none same-origin
GET    /api/auth/session                         portal  optional
GET    /sign-in                                  portal  optional page
POST   /sign-in                                  portal  none page same-origin
GET    /sign-up                                  portal  optional page
POST   /sign-up                                  portal  none page same-origin
GET    /sign-out                                 portal  optional page
POST   /sign-out                                 portal  none page same-origin
GET    /setup/:token                             portal  none page
POST   /setup/:token                             portal  none page same-origin
GET    /settings                                 portal  session page
POST   /settings/name                            portal  session page
GET    /.well-known/change-password              portal  none
POST   /settings/password                        portal  session page
POST   /settings/sessions/:id/revoke             portal  session page
GET    /reset-password                           portal  none page
POST   /reset-password                           portal  none page same-origin
GET    /reset-password/:token                    portal  none page
POST   /reset-password/:token                    portal  none page same-origin
GET    /confirm/:token                           portal  none page
POST   /confirm/:token                           portal  none page same-origin
GET    /verify-email/:token                      portal  session page
POST   /verify-email/:token                      portal  session page
GET    /new-email/:token                         portal  session page
POST   /new-email/:token                         portal  session page
GET    /avatars/:playerId                        portal  none
POST   /api/auth/passkeys/options                portal  session
POST   /api/auth/passkeys                        portal  session
POST   /api/auth/passkeys/sign-in/options        portal  none same-origin
POST   /api/auth/passkeys/sign-in                portal  none same-origin
GET    /sign-in/with/:provider                   portal  optional page
GET    /sign-in/with/:provider/callback          portal  optional page
GET    /connect/:token                           portal  session page
POST   /connect/:token                           portal  session page
GET    /admin                                    portal  session page
GET    /admin/jobs                               portal  session page
POST   /admin/jobs/:id/retry                     portal  session page
GET    /admin/storage                            portal  session page
POST   /admin/storage/count                      portal  session page
POST   /admin/backup                             portal  session page
GET    /admin/log                                portal  session page
GET    /admin/audit                              portal  session page
GET    /admin/audit.jsonl                        portal  session page
GET    /admin/config                             portal  session page
POST   /api/reports                              portal  optional
GET    /api/admin/reports                        portal  session
POST   /api/admin/reports/:id                    portal  session
POST   /api/admin/reports/undo                   portal  session
GET    /games/:slug/report                       portal  optional page
POST   /games/:slug/report                       portal  optional page same-origin
GET    /assets/:slug/report                      portal  optional page
POST   /assets/:slug/report                      portal  optional page same-origin
GET    /players/:id/report                       portal  optional page
POST   /players/:id/report                       portal  optional page same-origin
GET    /settings/messages                        portal  session page
GET    /admin/reports                            portal  session page
POST   /admin/reports/:id                        portal  session page
POST   /admin/reports/undo                       portal  session page
GET    /admin/games                              portal  session page
GET    /admin/games/:id/suspend                  portal  session page
POST   /admin/games/:id/suspend                  portal  session page
POST   /admin/games/:id/lift                     portal  session page
GET    /admin/games/:id/hand-over                portal  session page
POST   /admin/games/:id/hand-over                portal  session page
GET    /admin/games/:id/delete                  portal  session page
POST   /admin/games/:id/delete                  portal  session page
GET    /legal/terms                              portal  optional page
GET    /legal/privacy                            portal  optional page
GET    /api/auth/sign-up/challenge               portal  none
GET    /admin/approvals                          portal  session page
POST   /admin/approvals/:id/approve              portal  session page
POST   /admin/approvals/:id/review               portal  session page
POST   /admin/approvals/:id/refuse               portal  session page
POST   /games/:slug/appeal                       portal  session page
GET    /games/:slug/overview                     portal  session page
GET    /games/:slug/sign-in                      portal  session page
GET    /admin/players                            portal  session page
GET    /admin/players/:id                        portal  session page
POST   /admin/players/:id/disable                portal  session page
POST   /admin/players/:id/enable                 portal  session page
POST   /admin/players/:id/role                   portal  session page
POST   /admin/players/:id/trust                  portal  session page
POST   /admin/players/:id/distrust               portal  session page
POST   /admin/players/:id/sign-out               portal  session page
POST   /admin/players/:id/rename                 portal  session page
POST   /admin/players/:id/picture/remove         portal  session page
POST   /admin/players/:id/password-link          portal  session page
POST   /admin/players/:id/export                portal  session page
POST   /admin/players/:id/delete                 portal  session page
GET    /admin/invitations                        portal  session page
POST   /admin/invitations                        portal  session page
POST   /admin/invitations/:id/withdraw           portal  session page
GET    /settings/security                        portal  session page
POST   /settings/sessions/revoke-others          portal  session page
POST   /settings/passkeys/remove                 portal  session page
POST   /settings/accounts/disconnect             portal  session page
POST   /api/auth/guest                           portal  none same-origin
POST   /guest                                    portal  none page same-origin
GET    /invite/:token                            portal  optional page
POST   /invite/:token                            portal  optional page
POST   /settings/picture                         portal  session page
POST   /settings/picture/remove                  portal  session page
POST   /settings/upgrade                         portal  session page
POST   /settings/verify-email                    portal  session page
POST   /settings/email                           portal  session page
GET    /settings/export                          portal  session page
POST   /settings/delete                          portal  session page
PATCH  /api/deploy/:deployId                     portal  deployments:write api-token cli-token session
POST   /games/:slug/deploys/:deployId/pin        portal  session page
POST   /games/:slug/deploys/:deployId/unpin      portal  session page
GET    /llms.txt                                 portal  none
GET    /docs/:file(^[a-z0-9-]+\\.md$)             portal  none
POST   /mcp                                      portal  api-token+cli-token+resource-token api-token cli-token resource-token
OPTIONS /mcp                                     portal  none
GET    /.well-known/oauth-protected-resource     portal  none
GET    /.well-known/oauth-protected-resource/mcp portal  none
OPTIONS /.well-known/oauth-protected-resource    portal  none
OPTIONS /.well-known/oauth-protected-resource/mcp portal none
POST   /api/oauth/register                       portal  none
OPTIONS /api/oauth/register                      portal  none
GET    /api/usage                                portal  games:read api-token cli-token session
PUT    /api/admin/players/:playerId/trust        portal  session
GET    /api/admin/players/:playerId/quotas       portal  session
PATCH  /api/admin/players/:playerId/quotas       portal  session
DELETE /api/deploy/:deployId                     portal  deployments:write api-token cli-token session
POST   /games/:slug/deploys/:deployId/delete     portal  session page
POST   /games/:slug/deploys                      portal  session page

GET    /oauth/authorize                          portal  optional page
POST   /oauth/authorize                          portal  none page
GET    /oauth/continue                           portal  optional page
POST   /oauth/consent                            portal  session page
POST   /api/oauth/token                          portal  none
GET    /api/oauth/userinfo                       portal  oauth-token
POST   /api/oauth/userinfo                       portal  oauth-token
GET    /.well-known/oauth-authorization-server   portal  none
GET    /.well-known/openid-configuration         portal  none
GET    /api/oauth/jwks                           portal  none
POST   /api/oauth/revoke                         portal  none
POST   /api/oauth/introspect                     portal  none
POST   /api/oauth/device_authorization           portal  none
OPTIONS /api/oauth/token                         portal  none
OPTIONS /api/oauth/userinfo                      portal  none
OPTIONS /api/oauth/revoke                        portal  none
OPTIONS /api/oauth/device_authorization          portal  none
GET    /oauth/device                             portal  session page
POST   /oauth/device                             portal  session page
GET    /oauth/logout                             portal  optional page
POST   /oauth/logout                             portal  none page
POST   /oauth/logout/confirm                     portal  session page
GET    /settings/connected                       portal  session page
GET    /settings/storage                         portal  session page
POST   /settings/storage/remove                  portal  session page
GET    /settings/saves                           portal  session page
GET    /settings/saves/:gameId/:key              portal  session page
GET    /settings/saves/:gameId/:key/value        portal  session page
POST   /settings/saves/:gameId/:key/delete       portal  session page
POST   /settings/saves/:gameId/:key/restore      portal  session page
GET    /settings/ai                              portal  session page
GET    /settings/ai/:gameId                      portal  session page
POST   /settings/ai/:gameId                      portal  session page
POST   /settings/ai/:gameId/revoke               portal  session page
GET    /admin/quotas                             portal  session page
GET    /admin/quotas/:playerId                   portal  session page
POST   /admin/quotas/:playerId                   portal  session page
POST   /settings/connected/:clientId/revoke      portal  session page
GET    /api/oauth/apps/:id/analytics             portal  oauth:read api-token cli-token session
POST   /api/oauth/apps                           portal  oauth:write api-token cli-token session
GET    /api/oauth/apps                           portal  oauth:read api-token cli-token session
GET    /api/oauth/apps/:id                       portal  oauth:read api-token cli-token session
PATCH  /api/oauth/apps/:id                       portal  oauth:write api-token cli-token session
DELETE /api/oauth/apps/:id                       portal  oauth:write api-token cli-token session
POST   /api/oauth/apps/:id/secret                portal  oauth:write api-token cli-token session

GET    /api/tokens                               portal  session
POST   /api/tokens                               portal  session
DELETE /api/tokens/:id                           portal  session
GET    /api/cli/whoami                           portal  any-token
DELETE /api/cli/tokens                           portal  any-token
GET    /settings/applications                   portal  session page
GET    /settings/applications/new               portal  session page
POST   /settings/applications/new               portal  session page
GET    /settings/applications/:id               portal  session page
POST   /settings/applications/:id               portal  session page
POST   /settings/applications/:id/secret        portal  session page
POST   /settings/applications/:id/delete        portal  session page
GET    /settings/tokens                          portal  session page
POST   /settings/tokens                          portal  session page
POST   /settings/tokens/:id/revoke               portal  session page

POST   /api/games                                portal  games:write api-token cli-token session
POST   /api/ai/generate                          portal  ai:generate api-token cli-token oauth-token
GET    /api/ai/credits                           portal  ai:generate api-token cli-token oauth-token
OPTIONS /api/ai/generate                         portal  none
OPTIONS /api/ai/credits                          portal  none
GET    /credits                                  portal  session page
POST   /credits/buy                              portal  session page
GET    /admin/credits                            portal  session page
POST   /admin/credits                            portal  session page
GET    /playground                               portal  session page
POST   /playground                               portal  session page
GET    /games/:slug/ai                           portal  session page
GET    /api/payments/packs                       portal  none
POST   /api/payments/checkout                    portal  session
GET    /api/payments/purchases/:purchaseId               portal  session
POST   /api/payments/webhook                     portal  none

GET    /api/games                                portal  games:read api-token cli-token session
GET    /api/games/:id                            portal  games:read api-token cli-token session
PATCH  /api/games/:id                            portal  games:write api-token cli-token session
DELETE /api/games/:id                            portal  games:write api-token cli-token session
POST   /api/games/:id/appeal                     portal  games:write api-token cli-token session
POST   /api/games/:id/remix                      portal  games:write api-token cli-token session
POST   /api/games/:id/restore                    portal  games:write api-token cli-token session
POST   /api/games/:id/secret                     portal  games:write api-token cli-token session
GET    /api/games/:id/analytics                  portal  games:read api-token cli-token session
GET    /api/games/:id/activity                   portal  games:read api-token cli-token session
GET    /api/games/:id/members                    portal  games:read api-token cli-token session
PATCH  /api/games/:id/members/:playerId          portal  games:write api-token cli-token session
DELETE /api/games/:id/members/:playerId          portal  games:write api-token cli-token session
GET    /api/games/:id/invitations                portal  games:read api-token cli-token session
POST   /api/games/:id/invitations                portal  games:write api-token cli-token session
DELETE /api/games/:id/invitations/:invitationId  portal  games:write api-token cli-token session
GET    /api/games/:id/transfer                   portal  games:read api-token cli-token session
POST   /api/games/:id/transfer                   portal  games:write api-token cli-token session
DELETE /api/games/:id/transfer                   portal  games:write api-token cli-token session
POST   /api/games/:id/transfer/accept            portal  games:write api-token cli-token session
GET    /api/games/:id/invitations/players        portal  games:write api-token cli-token session
GET    /api/games/:id/logs                       portal  games:read api-token cli-token session
GET    /api/games/:id/errors                     portal  games:read api-token cli-token session
DELETE /api/games/:id/errors                     portal  games:write api-token cli-token session
POST   /api/games/:id/media                      portal  games:write api-token cli-token session
DELETE /api/games/:id/media/:mediaId             portal  games:write api-token cli-token session
GET    /api/catalog/games                        portal  none
GET    /                                         portal  optional page
GET    /games                                    portal  session page
GET    /games/new                                portal  session page
POST   /games/new                                portal  session page
GET    /games/new/starter                        portal  session page
POST   /games/new/starter                        portal  session page
GET    /games/:slug                              portal  optional page
GET    /games/:slug/settings                     portal  session page
POST   /games/:slug/settings                     portal  session page
POST   /games/:slug/settings/serving             portal  session page
POST   /games/:slug/settings/features            portal  session page
POST   /games/:slug/settings/delete              portal  session page
GET    /games/:slug/integrate                    portal  session page
GET    /games/:slug/rooms                        portal  session page
GET    /games/:slug/errors                       portal  session page
POST   /games/:slug/errors/clear                 portal  session page
GET    /live/games                               portal  session
GET    /live/games/:slug                         portal  session
GET    /live/games/:slug/rooms                   portal  session
GET    /players/me                               portal  session page
GET    /players/:id                              portal  optional page
GET    /catalog                                  portal  optional page
POST   /games/restore                            portal  session page
POST   /games/erase                              portal  session page
GET    /games/:slug/join/:key                    portal  session page
POST   /games/:slug/join/:key                    portal  session page
GET    /games/:slug/analytics                    portal  session page
GET    /games/:slug/activity                     portal  session page
POST   /games/:slug/settings/media               portal  session page
POST   /games/:slug/settings/media/cover         portal  session page
POST   /games/:slug/settings/media/remove        portal  session page
POST   /games/:slug/settings/address             portal  session page
GET    /games/:slug/settings/domains             portal  session page
POST   /games/:slug/settings/domains             portal  session page
POST   /games/:slug/settings/domains/change      portal  session page
GET    /admin/domains                            portal  session page
POST   /admin/domains/:id/remove                 portal  session page
GET    /api/games/:id/domains                    portal  games:read api-token cli-token session
POST   /api/games/:id/domains                    portal  games:write api-token cli-token session
POST   /api/games/:id/domains/:name/verify       portal  games:write api-token cli-token session
PATCH  /api/games/:id/domains/:name              portal  games:write api-token cli-token session
DELETE /api/games/:id/domains/:name              portal  games:write api-token cli-token session
GET    /games/:slug/team                         portal  session page
POST   /games/:slug/team/invitations             portal  session page
POST   /games/:slug/team/revoke                  portal  session page
POST   /games/:slug/team/role                    portal  session page
POST   /games/:slug/team/remove                  portal  session page
POST   /games/:slug/team/transfer                portal  session page
POST   /games/:slug/team/transfer/end            portal  session page
POST   /games/:slug/team/transfer/accept         portal  session page
GET    /invitations/:id/:key                     portal  optional page
POST   /invitations/:id/:key                     portal  session page
POST   /invitations/:id/:key/decline             portal  session page
POST   /games/:slug/integrate/secret             portal  session page
GET    /media/:gameId/:file                      portal  optional

POST   /api/deploy                               portal  deployments:write api-token cli-token session
POST   /api/deploy/:deployId/finalize            portal  deployments:write api-token cli-token session
POST   /api/deploy/:deployId/rollback            portal  deployments:write api-token cli-token session
GET    /api/deploy/:deployId                     portal  games:read api-token cli-token session
GET    /api/games/:id/deploys                    portal  games:read api-token cli-token session
GET    /api/games/:id/deploys/:deployId/archive  portal  games:read api-token cli-token session
GET    /api/games/:id/draft                      portal  games:read api-token cli-token session
PATCH  /api/games/:id/draft                      portal  deployments:write api-token cli-token session
DELETE /api/games/:id/draft                      portal  deployments:write api-token cli-token session
GET    /api/games/:id/draft/files/:path          portal  games:read api-token cli-token session
PUT    /api/games/:id/draft/files/:path          portal  deployments:write api-token cli-token session
DELETE /api/games/:id/draft/files/:path          portal  deployments:write api-token cli-token session
POST   /api/games/:id/draft/rename               portal  deployments:write api-token cli-token session
POST   /api/games/:id/draft/rebase               portal  deployments:write api-token cli-token session
POST   /api/games/:id/draft/publish              portal  deployments:write api-token cli-token session
GET    /api/games/:id/diff                       portal  games:read api-token cli-token session
GET    /games/:slug/code                         portal  session page
GET    /games/:slug/code/preview                 portal  session page
GET    /live/games/:slug/code                    portal  session
GET    /api/deploy/:deployId/bundle              portal  none
PUT    /api/deploy/:deployId/bundle              portal  none
PUT    /api/deploy/:deployId/files/:sha256       portal  none
GET    /games/:slug/assets                       portal  session page
GET    /games/:slug/blender                      portal  session page
GET    /games/:slug/deploys                      portal  session page
POST   /games/:slug/deploys/:deployId/rollback   portal  session page

GET    /api/blender/health                       studio  assets:read api-token cli-token session
GET    /api/blender/v1/capabilities              studio  assets:read api-token cli-token session
GET    /api/blender/v1/templates                 studio  assets:read api-token cli-token session
GET    /api/blender/v1/library                   studio  assets:read api-token cli-token session
GET    /api/blender/v1/library/:id               studio  assets:read api-token cli-token session
GET    /api/blender/v1/jobs                      studio  assets:read api-token cli-token session
POST   /api/blender/v1/jobs                      studio  assets:generate api-token cli-token session
GET    /api/blender/v1/jobs/:id                  studio  assets:read api-token cli-token session
POST   /api/blender/v1/jobs/:id/cancel           studio  assets:write api-token cli-token session
POST   /api/blender/v1/jobs/:id/actions          studio  assets:generate api-token cli-token session
GET    /api/blender/v1/jobs/:id/artifacts        studio  assets:read api-token cli-token session
GET    /api/blender/v1/jobs/:id/artifacts/:name  studio  assets:read api-token cli-token session
GET    /api/assets                               studio  optional
POST   /api/assets                               studio  assets:write api-token cli-token session
GET    /api/assets/:id                           studio  optional
OPTIONS /api/assets                              studio  none
OPTIONS /api/assets/:id                          studio  optional
PATCH  /api/assets/:id                           studio  assets:write api-token cli-token session
DELETE /api/assets/:id                           studio  assets:write api-token cli-token session
POST   /api/assets/:id/publish                   studio  assets:write api-token cli-token session
POST   /api/assets/:id/appeal                    studio  assets:write api-token cli-token session
POST   /api/assets/:id/unpublish                 studio  assets:write api-token cli-token session
GET    /api/assets/:id/manifest                  studio  optional
OPTIONS /api/assets/:id/manifest                 studio  optional
GET    /api/assets/:id/file                      studio  optional
OPTIONS /api/assets/:id/file                     studio  optional
GET    /api/assets/:id/files/*                   studio  optional
OPTIONS /api/assets/:id/files/*                  studio  optional
GET    /api/assets/:id/thumbnail                 studio  optional
OPTIONS /api/assets/:id/thumbnail                studio  optional
GET    /api/assets/:id/animation/:preset         studio  optional
OPTIONS /api/assets/:id/animation/:preset        studio  optional
POST   /api/assets/:id/animations                studio  assets:write api-token cli-token session
DELETE /api/assets/:id/animations                studio  assets:write api-token cli-token session
GET    /assets/:id/animation/:preset             portal  optional
OPTIONS /assets/:id/animation/:preset portal optional
GET    /assets                                   portal  optional page
GET    /assets/mine                              portal  session page
GET    /assets/new                               portal  session page
POST   /assets/new                               portal  session page
GET    /assets/:slug                             portal  optional page
GET    /assets/:slug/edit                        portal  session page
POST   /assets/:slug/edit                        portal  session page
POST   /assets/:slug/publish                     portal  session page
POST   /assets/:slug/unpublish                   portal  session page
POST   /assets/:slug/delete                      portal  session page
POST   /assets/:slug/appeal                      portal  session page
POST   /admin/assets/:slug/curate                portal  session page
POST   /admin/assets/:slug/suspend               portal  session page
POST   /admin/assets/:slug/lift                  portal  session page
POST   /admin/assets/:slug/delete               portal  session page
GET    /admin/assets/:slug/suspend               portal  session page
POST   /admin/assets/:slug/release               portal  session page
GET    /assets/:id/file                          portal  optional
OPTIONS /assets/:id/file portal optional
GET    /assets/:id/thumbnail                     portal  optional
OPTIONS /assets/:id/thumbnail portal optional

GET    /api/blender/v1/jobs/:id/events           studio  assets:read api-token cli-token session
GET    /api/blender/v1/jobs/:id/log              studio  assets:read api-token cli-token session
GET    /blender                                  portal  session page
GET    /blender/new                              portal  session page
POST   /blender/new                              portal  session page
GET    /blender/jobs/:id                         portal  session page
GET    /blender/jobs/:id/events                  portal  session page
GET    /blender/jobs/:id/files/:name             portal  session page
POST   /blender/jobs/:id/cancel                  portal  session page
POST   /blender/jobs/:id/revise                  portal  session page
POST   /api/generations                          studio  assets:generate api-token cli-token session
GET    /api/generations/:id                      studio  assets:read api-token cli-token session

GET    /auth/service/start                       game    none
GET    /auth/service/preview                     game    none
GET    /games/:slug/deploys/:deployId/preview    portal  session page
GET    /auth/service/callback                    game    none
GET    /auth/service/session                     game    none
GET    /auth/service/logout                      game    none
POST   /auth/service/logout                      game    none
POST   /auth/service/embed                       game    none
POST   /auth/service/frame-token                 game    none
GET    /auth/service/window                      game    none
POST   /auth/service/hand-over                   game    none
POST   /games/:slug/play-ticket                  portal  session
GET    /__service/auth-widget.js                 game    none
GET    /__service/mount.js                       game    none
GET    /__service/engine.js                      game    none
GET    /__service/frame-worker.js                game    none
GET    /__service/:file(^[a-z-]+\\.\\w{8}\\.js$) game    none
GET    /widget.js                                portal  none
GET    /mount.js                                 portal  none
GET    /scripts.json                             portal  none
GET    /__service/assets/:file                   game    none
OPTIONS /__service/assets/:file                  game    none
GET    /__service/assets/:file/*                 game    none
OPTIONS /__service/assets/:file/*                game    none
GET    /__service/multiplayer.js                 game    none
GET    /games/:slug/boards/:board                portal  optional page
GET    /games/:slug/remix                        portal  session page
POST   /games/:slug/remix                        portal  session page
GET    /games/:slug/scores                       portal  session page
POST   /games/:slug/scores                       portal  session page
GET    /games/:slug/scores/:board                portal  session page
POST   /games/:slug/scores/:board                portal  session page
POST   /games/:slug/scores/:board/change         portal  session page
GET    /api/games/:id/boards                     portal  games:read api-token cli-token session
GET    /api/games/:id/boards/:boardId            portal  games:read api-token cli-token session
PUT    /api/games/:id/boards/:boardId            portal  games:write api-token cli-token session
DELETE /api/games/:id/boards/:boardId            portal  games:write api-token cli-token session
GET    /api/games/:id/boards/:boardId/scores     portal  optional
DELETE /api/games/:id/boards/:boardId/scores/:playerId portal games:write api-token cli-token session
GET    /api/games/:id/boards/:boardId/excluded   portal  games:read api-token cli-token session
PUT    /api/games/:id/boards/:boardId/excluded/:playerId portal games:write api-token cli-token session
DELETE /api/games/:id/boards/:boardId/excluded/:playerId portal games:write api-token cli-token session
POST   /__service/scores/:board                  game    none
GET    /__service/scores/:board                  game    none
GET    /__service/scores.js                      game    none
POST   /__service/errors                         game    none
GET    /__service/errors.js                      game    none
POST   /__service/ai                             game    none
GET    /__service/ai.js                          game    none
GET    /__service/saves.js                       game    none
GET    /__service/saves                          game    none
GET    /__service/saves/:key                     game    none
PUT    /__service/saves/:key                     game    none
DELETE /__service/saves/:key                     game    none
GET    /__service/saves/:key/versions            game    none
POST   /__service/saves/:key/restore             game    none
GET    /api/saves                                portal  oauth-token
GET    /api/saves/:key                           portal  oauth-token
PUT    /api/saves/:key                           portal  oauth-token
DELETE /api/saves/:key                           portal  oauth-token
GET    /api/saves/:key/versions                  portal  oauth-token
POST   /api/saves/:key/restore                   portal  oauth-token
GET    /mp                                       game    none
GET    /mp/rooms                                 game    none
GET    /mp/rooms/:roomId                         game    none
GET    /*                                        game    none
`

interface Line {
  method: string
  path: string
  origin: string
  /** `none`, `optional`, `session`, `any-token`, a scope, or the kinds alone. */
  auth: string
  kinds: PrincipalKind[]
  scope: string | null
  required: boolean
  page: boolean
  sameOrigin: boolean
}

const TOKENS: PrincipalKind[] = ['api-token', 'cli-token']
const KINDS: PrincipalKind[] = ['session', ...TOKENS, 'oauth-token', 'resource-token']
const WORDS: Record<string, PrincipalKind[]> = {
  none: [],
  optional: ['session', ...TOKENS],
  session: ['session'],
  'any-token': TOKENS,
  'oauth-token': ['oauth-token'],
}

const lines: Line[] = TABLE.trim()
  .split(/\n+/)
  .map((text) => {
    const [method = '', path = '', origin = '', auth = '', ...rest] = text.split(/ +/)
    const kinds = WORDS[auth] ?? KINDS.filter((kind) => rest.includes(kind))
    const scope = auth.includes(':') ? auth : null
    const required = auth !== 'none' && auth !== 'optional'
    const flags = { page: rest.includes('page'), sameOrigin: rest.includes('same-origin') }
    return { method, path, origin, auth, kinds, scope, required, ...flags }
  })

const lineOf = (
  entry: Pick<RouteEntry, 'method' | 'url' | 'origin'>,
  auth: string,
  kinds: readonly string[],
  page: boolean,
) => [entry.method, entry.url, entry.origin, auth, [...kinds].sort().join(' '), page ? 'page' : ''].join(' ').trim()

const named = ({ method, path }: Line) => `${method} ${path}`
// RFC 9110 section 9.2.1; HEAD is declared with GET.
const isUnsafe = ({ method }: Line) => method !== 'GET' && method !== 'OPTIONS'

/** All of them in the long form; in the short one three, others for each route, so that each is tried with many. */
const someOf = <Item>(list: readonly Item[], number: number): readonly Item[] =>
  ALL ? list : [0, 1, 2].map((step) => list[(number * 3 + step) % list.length] as Item)
/** Everything in the long form; in the short form the next one for each route. */
const inTurn = <Item>(list: readonly Item[], number: number): readonly Item[] =>
  ALL ? list : [list[number % list.length] as Item]

t.test('every route is written down here, with its origin, its auth and the principals it takes', async (t) => {
  const { app } = await startPlatform(t)
  const { entries } = app.routeTable
  const declared = entries
    .filter(({ method }) => method !== 'HEAD')
    .map((entry) => {
      const { auth } = entry
      const word = typeof auth === 'string' ? auth : 'scope' in auth ? auth.scope : entry.accepts.join('+')
      return lineOf(entry, word, entry.accepts, entry.page)
    })
  const written = lines.map((line) =>
    lineOf({ method: line.method, url: line.path, origin: line.origin as 'any' }, line.auth, line.kinds, line.page),
  )
  const missing = declared.filter((line) => !written.includes(line))
  const gone = written.filter((line) => !declared.includes(line))
  t.same(missing, [], 'declared by the program, not written down')
  t.same(gone, [], 'written down, not declared')
  for (const head of entries.filter(({ method }) => method === 'HEAD')) {
    const get = entries.find(
      ({ method, url, origin }) => method === 'GET' && url === head.url && origin === head.origin,
    )
    t.same(head.auth, get?.auth, `HEAD ${head.url} asks what GET asks`)
  }
})

/** A Blender job that is over, so that its stream of events ends too; it needs no Blender. */
async function cancelledJob(app: Platform['app'], ownerId: string): Promise<string> {
  const worker = { id: 'wrk_elsewhere', executor: 'subprocess', capacity: 1, blenderVersion: '4.2.0' }
  await app.db.em().insert(WorkerRow, { ...worker, seenAt: app.clock.now() })
  const { id } = await app.blender.submit(ownerId, { name: 'A crate', template: 'prop' })
  await app.blender.cancel(ownerId, id)
  return id
}

let world: ReturnType<typeof settle> | undefined

/** The world of all tests of this file: whatever they ask is refused, so it stays as it is. */
const inhabit = () => {
  world ??= settle(t)
  return world
}

/** A world in which every route has something to be about, and every kind of credential. */
async function settle(t: Test) {
  const platform = await startPlatform(t, { config: { blender: { driver: 'none' } } })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { title: 'Pong' })
  const application = await registerApp(platform, owner)
  const program = await platform.program(owner)
  const bytes = 'hello'
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const deploy = await program.post('/api/deploy', {
    gameId: game.id,
    files: [{ path: 'index.html', size: bytes.length, sha256 }],
  })
  t.equal(deploy.status, 200)
  const token = (await owner.get('/api/tokens')).body.tokens.at(-1)
  const [session] = await platform.app.identity.sessions.list(owner.id)
  const file = (await platform.stranger.get('/')).text.match(/\/_assets\/([^"]+)/)?.[1]
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-routes-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'pong.glb'), await sheet(2))
  const file3d = { path: join(folder, 'pong.glb'), name: 'pong.glb' }
  const asset = await platform.app.assets.create(owner.id, { title: 'Pong' }, file3d)
  const job = await cancelledJob(platform.app, owner.id)
  const making = { provider: 'blender', name: 'A crate', template: 'prop' }
  const generation = await platform.app.generatedAssets.start(owner.id, making)
  // A stream that goes on for ever would be waited for: each says how things are and ends.
  platform.app.eventStreams.close()
  const ids: [prefix: RegExp, id: string | undefined][] = [
    [/^\/(api\/oauth\/apps|settings\/applications)/, application.id],
    [/^\/(api|settings)\/tokens/, token.id],
    [/^\/settings\/sessions/, session?.id],
    [/^\/api\/games/, game.id],
    [/^\/api\/blender\/v1\/library/, 'coin-gold'],
    [/^(\/api)?\/assets/, asset.id],
    [/^(\/api)?\/blender/, job],
    [/^\/api\/generations/, generation.id],
    [/^(\/admin)?\/(players|invitations)/, owner.id],
    [/^(\/api)?\/admin\/(games|reports|approvals)/, game.id],
    [/^\/admin\/jobs/, 'bgj_nowhere'],
    [/^\/admin\/domains/, 'dom_nowhere'],
  ]
  const things: Record<string, string | undefined> = {
    group: 'games',
    slug: game.slug,
    deployId: deploy.body.deployId,
    sha256,
    file,
    roomId: 'lobby',
    token: 'x'.repeat(43),
    clientId: application.clientId,
    playerId: owner.id,
    provider: 'github',
    mediaId: 'med_nowhere',
    invitationId: 'inv_nowhere',
    categoryId: 'overall',
    jamId: 'jam_nowhere',
    gameId: game.id,
    key: 'x'.repeat(22),
    preset: 'walk',
    purchaseId: 'pur_nowhere',
    name: 'model.glb',
    board: 'fastest',
    boardId: 'fastest',
    part: 'x.xml',
    path: 'game.js',
  }
  const at = ({ path, origin }: Line): [url: string, options: RequestOptions] => {
    things.id = ids.find(([prefix]) => prefix.test(path))?.[1]
    const url = path
      .replace(/\(\^.*\)$/, '')
      .replace('*', 'a/file.js')
      .replace(/:(\w+)/g, (_, name) => {
        const thing = things[name]
        if (!thing) throw new Error(`This test has no ${name} for ${path}.`)
        return thing
      })
    return [url, origin === 'game' ? { host: platform.gameHost(game.slug) } : {}]
  }
  const access = await exchange(platform.stranger, application, await obtainCode(owner, application))
  const resource = { scope: 'games:read games:write', resource: `${platform.portal}/mcp` }
  const tools = await exchange(platform.stranger, application, await obtainCode(owner, application, resource))
  const { token: cliToken } = await platform.app.tokens.create({
    playerId: owner.id,
    kind: 'cli',
    label: 'laptop',
    scopes: [],
    expiresInDays: null,
  })
  const bearers: Record<string, Client> = {
    'api-token': program,
    'cli-token': new Client(platform.app, cliToken),
    'oauth-token': new Client(platform.app, access.body.access_token),
    'resource-token': new Client(platform.app, tools.body.access_token),
  }
  const as = (kind: PrincipalKind): Client => bearers[kind] ?? owner
  return { platform, owner, program, game, at, as }
}

const shape = (answer: Answer, code: string) => ({
  ok: answer.body?.error?.code === code && typeof answer.body.error.message === 'string',
  answer: answer.text.slice(0, 300),
})
const hasShape = (t: Test, answer: Answer, code: string, name: string) =>
  t.match(shape(answer, code), { ok: true }, `${name}: ${code}`)

t.test('nobody is let in where a caller is needed', async (t) => {
  const { platform, at } = await inhabit()
  for (const line of lines.filter(({ required }) => required)) {
    const [url, options] = at(line)
    for (const method of line.method === 'GET' ? ['GET', 'HEAD'] : [line.method]) {
      const answer = await platform.stranger.request(method, url, undefined, options)
      if (line.page) {
        const back = method === 'GET' || method === 'HEAD' ? encodeURIComponent(method === 'HEAD' ? '/' : url) : '%2F'
        t.match(answer, { status: 303, headers: { location: `/sign-in?returnTo=${back}` } }, `${method} ${line.path}`)
      } else {
        t.equal(answer.status, 401, `${method} ${line.path}`)
        const metadata = `${platform.portal}/.well-known/oauth-protected-resource/mcp`
        const challenge = line.path === '/mcp' ? `Bearer resource_metadata="${metadata}"` : 'Bearer'
        t.equal(answer.headers['www-authenticate'], challenge, `${method} ${line.path}`)
        if (method !== 'HEAD') hasShape(t, answer, 'unauthorized', named(line))
      }
    }
  }
})

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }

t.test('a credential of another kind opens nothing', async (t) => {
  const { platform, at, as } = await inhabit()
  for (const line of lines.filter(({ auth }) => auth !== 'none')) {
    const [url, options] = at(line)
    for (const kind of KINDS.filter((kind) => !line.kinds.includes(kind))) {
      const answer = await as(kind).request(line.method, url, undefined, options)
      if (!line.required && !isUnsafe(line)) {
        const nobody = await platform.stranger.request(line.method, url, undefined, options)
        t.equal(answer.status, nobody.status, `${named(line)}: ${kind} counts as none`)
        continue
      }
      const expected = kind === 'session' ? 401 : 403
      t.equal(answer.status, expected, `${named(line)}: ${kind}`)
      if (!line.page) hasShape(t, answer, expected === 401 ? 'unauthorized' : 'forbidden', `${named(line)}: ${kind}`)
    }
  }
  const survivors = await Promise.all([
    as('session').get('/api/tokens'),
    as('api-token').get('/api/cli/whoami'),
    as('cli-token').get('/api/cli/whoami'),
    as('oauth-token').get('/api/oauth/userinfo'),
    as('resource-token').post('/mcp', PING, { headers: { accept: 'application/json, text/event-stream' } }),
  ])
  t.same(
    survivors.map(({ status }) => status),
    [200, 200, 200, 200, 200],
    'each is still good where it belongs',
  )
})

t.test('a token without the scope is told which one it lacks, whatever the body and the address', async (t) => {
  const { platform, owner, at } = await inhabit()
  const scopes = [...new Set(lines.flatMap(({ scope }) => scope ?? []))]
  const every = ['assets:read', 'assets:write', 'assets:generate', 'games:read', 'games:write', 'deployments:write']
  every.push('oauth:read', 'oauth:write', 'ai:generate')
  for (const scope of scopes) {
    const program = await platform.program(
      owner,
      every.filter((other) => other !== scope),
    )
    for (const [number, line] of lines.filter((line) => line.scope === scope).entries()) {
      const [url] = at(line)
      const bodies = isUnsafe(line) ? [undefined, { nonsense: true }, '{'] : [undefined]
      for (const body of inTurn(bodies, number)) {
        const headers = { 'content-type': body === undefined ? undefined : 'application/json' }
        for (const address of [url, url.replace(/(gam|app|dep)_\w+/, 'nothing')]) {
          const answer = await program.request(line.method, address, body, { headers })
          const name = `${named(line)} ${JSON.stringify(body) ?? ''}`
          t.match(answer, { status: 403, body: { error: { code: 'missing_scope' } } }, name)
          t.equal(answer.body.error.message, `API token is missing the ${scope} scope.`)
          t.equal(answer.headers['www-authenticate'], `Bearer error="insufficient_scope", scope="${scope}"`)
        }
      }
    }
  }
})

t.test("another's thing is no thing, whatever the body", async (t) => {
  const { platform, owner, game, at } = await inhabit()
  const other = await platform.signUp()
  const program = await platform.program(other)
  const isAdmin = ({ path }: Line) => /^(\/api)?\/admin(\/|$)/.test(path)
  // What everybody may use, though it is somebody's: Pong is public.
  const isPublic = ({ path }: Line) =>
    ['/api/blender/v1/library/:id', '/games/:slug/play-ticket'].includes(path) || path.endsWith('/remix')
  const about = lines.filter(
    (line) => line.required && /:(id|slug|deployId)/.test(line.path) && !isAdmin(line) && !isPublic(line),
  )
  for (const line of lines.filter(isAdmin)) {
    const answer = await other.request(line.method, at(line)[0], undefined)
    t.equal(answer.status, 403, `${named(line)} is for administrators`)
  }
  t.ok(about.length > 15)
  const attempt = async (line: Line, client: Client) => {
    const [url] = at(line)
    const bodies = isUnsafe(line) ? [undefined, { nonsense: true }, line.page ? 'nonsense=1' : '{'] : [undefined]
    for (const body of bodies) {
      const form = typeof body === 'string' && line.page
      const headers = { 'content-type': body ? `application/${form ? 'x-www-form-urlencoded' : 'json'}` : undefined }
      const answer = await client.request(line.method, url, body, { headers })
      const name = `${named(line)} ${JSON.stringify(body) ?? ''} ${client === other ? 'session' : 'token'}`
      t.equal(answer.status, 404, name)
      t.notMatch(answer.text, /Pong|nonsense/, `${name}: nothing is given away`)
    }
  }
  for (const line of about) {
    if (line.kinds.includes('session')) await attempt(line, other)
    if (line.kinds.includes('api-token')) await attempt(line, program)
  }
  t.match(await owner.get(`/api/games/${game.id}`), { status: 200, body: { title: 'Pong' } }, 'all is as it was')
})

t.test('a change with a session, or of one, comes from our own pages only', async (t) => {
  const { owner, game, at, as } = await inhabit()
  const foreign: Record<string, string | undefined>[] = [
    { origin: undefined },
    { origin: 'https://evil.example' },
    { origin: game.url },
    { origin: 'null' },
    { origin: undefined, 'sec-fetch-site': 'same-site' },
    { origin: undefined, 'sec-fetch-site': 'cross-site' },
    { origin: undefined, 'sec-fetch-site': 'none' },
  ]
  const guarded = lines.filter((line) => isUnsafe(line) && (line.sameOrigin || line.kinds.includes('session')))
  t.ok(guarded.length > 20)
  for (const [number, line] of guarded.entries()) {
    const [url] = at(line)
    for (const headers of someOf(foreign, number)) {
      const answer = await owner.request(line.method, url, undefined, { headers })
      const name = `${named(line)} ${JSON.stringify(headers)}`
      t.equal(answer.status, 403, name)
      t.notOk(answer.headers['set-cookie'], name)
      if (!line.page) hasShape(t, answer, 'forbidden', name)
    }
  }
  for (const line of lines.filter((line) => line.method === 'GET' && line.origin === 'portal')) {
    const [url] = at(line)
    await owner.get(url, { headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } })
  }
  t.match(await owner.get('/api/auth/session'), { body: { signedIn: true } }, 'and no GET signs anybody out')
  t.equal((await as('api-token').get(`/api/games/${game.id}`)).status, 200, 'or takes anything away')
})

const STRANGE: [host: string, status: number][] = [
  ['evil.example', 421],
  ['a@b', 400],
]

t.test('a route answers at its own origin only', async (t) => {
  const { platform, owner, program, game, at } = await inhabit()
  const host = platform.gameHost(game.slug)
  for (const [number, line] of lines.filter(({ origin }) => origin !== 'any').entries()) {
    const [url] = at(line)
    const elsewhere = line.origin === 'game' ? {} : { host }
    for (const client of inTurn([owner, program], number)) {
      const answer = await client.request(line.method, url, undefined, elsewhere)
      t.ok([404, 405].includes(answer.status), `${named(line)} elsewhere: ${answer.status}`)
    }
    for (const [strange, status] of inTurn(STRANGE, number)) {
      const answer = await owner.request(line.method, url, undefined, { host: strange })
      t.equal(answer.status, status, `${named(line)} at ${strange}`)
    }
  }
})

const AUTHORIZATIONS = [
  '',
  ' ',
  'Bearer',
  'Bearer ',
  'bearer x',
  'Bearer x y',
  'Bearer\tx',
  'Bearer ===',
  'Bearer null',
  'Bearer [object Object]',
  'Bearer \u00e4\u00f6',
  'Bearer \u0000',
  'Bearer svc_api_',
  `Bearer svc_api_${'0'.repeat(38)}`,
  `Bearer svc_cli_${'z'.repeat(38)}`,
  `Bearer svc_oat_${'A'.repeat(43)}`,
  "Bearer svc_api_'; drop table players; --",
  `Bearer ${'x'.repeat(8000)}`,
  'Bearer x, Bearer y',
  'Basic',
  'Basic !!!',
  `Basic ${btoa(':')}`,
  `Basic ${btoa('x'.repeat(4000))}`,
  'Digest username="x", realm="y"',
]

const COOKIES = [
  '',
  ' ',
  '=',
  '=x',
  ';;;;',
  'session',
  'gameyard_session_8080=',
  'gameyard_session_8080=%',
  'gameyard_session_8080=%zz',
  'gameyard_session_8080=%00',
  'gameyard_session_8080="x',
  'gameyard_session_8080=null',
  'gameyard_session_8080=\u0000\u0001',
  'gameyard_session_8080=\u00e4',
  'gameyard_session_8080=a; gameyard_session_8080=b',
  `gameyard_session_8080=${'x'.repeat(8000)}`,
  `${'gameyard_session_8080=x; '.repeat(400)}`,
  '__Host-session=x',
  'gameyard_game_8080=..',
  'gameyard_game_8080=a.b.c.d.e',
  'gameyard_game_8080=eyJhbGciOiJub25lIn0..x.y.',
  'gameyard_game_8080=x; gameyard_game_8080=y',
  '__proto__=x; constructor=y; hasOwnProperty=z',
  "gameyard_session_8080='; drop table sessions; --",
]

t.test('24 malformed Authorization headers and 24 Cookie headers are nobody, and never our fault', async (t) => {
  const { platform, at } = await inhabit()
  t.same([AUTHORIZATIONS.length, COOKIES.length], [24, 24])
  for (const [number, line] of lines.entries()) {
    const [url, options] = at(line)
    const ask = (headers: Record<string, string>) =>
      platform.stranger.request(line.method, url, undefined, { ...options, headers })
    const wrong: string[] = []
    for (const authorization of someOf(AUTHORIZATIONS, number)) {
      const { status } = await ask({ authorization })
      const isOfProxy = /^(?:Basic|Digest) /.test(authorization)
      const isTaken = line.auth === 'none' || (!line.required && (isOfProxy || !isUnsafe(line)))
      const right = isTaken ? status < 500 : status === (line.page && isOfProxy ? 303 : 401)
      if (!right) wrong.push(`${JSON.stringify(authorization.slice(0, 60))}: ${status}`)
    }
    for (const cookie of someOf(COOKIES, number)) {
      const { status } = await ask({ cookie })
      const right = line.required ? status === (line.page ? 303 : 401) : status < 500
      if (!right) wrong.push(`${JSON.stringify(cookie.slice(0, 60))}: ${status}`)
    }
    t.same(wrong, [], named(line))
  }
})

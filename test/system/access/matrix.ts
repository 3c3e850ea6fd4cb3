/**
 * What every route answers to whom, asked without a body about the private things of an owner.
 *
 * The columns: the owner, then `CALLERS` of world.ts: nobody, a guest, a player, another owner, a moderator, an
 * administrator, another maker of the owner's game, a tester of it, and somebody who made it once. What is the owner's
 * alone is 404 to them, as if it were not there, and 403 to the maker, who knows that it is; 401, or 303 to the sign-in
 * page, for whoever is nobody; 403 for what only administrators do. A 400 misses the body: what one with the owner's ids
 * in it does is tried in ownership-fuzz.test.ts. Administrators do to somebody else what they may do to anybody.
 */
export const MATRIX = `
# What is public, and the program itself
GET    /                                               200  200  200  200  200  200  200  200  200  200
GET    /.well-known/change-password                    302  302  302  302  302  302  302  302  302  302
GET    /__service/tls                                  400  400  400  400  400  400  400  400  400  400
GET    /_assets/:file                                  404  404  404  404  404  404  404  404  404  404
GET    /apple-touch-icon.png                           200  200  200  200  200  200  200  200  200  200
GET    /api/auth/sign-up/challenge                     200  200  200  200  200  200  200  200  200  200
GET    /avatars/:playerId                              200  200  200  200  200  200  200  200  200  200
GET    /card.png                                       200  200  200  200  200  200  200  200  200  200
GET    /catalog                                        200  200  200  200  200  200  200  200  200  200
GET    /docs                                           200  200  200  200  200  200  200  200  200  200
GET    /docs/:name                                     404  404  404  404  404  404  404  404  404  404
GET    /docs/api                                       200  200  200  200  200  200  200  200  200  200
GET    /docs/api/:group                                200  200  200  200  200  200  200  200  200  200
GET    /download                                       200  200  200  200  200  200  200  200  200  200
GET    /download/gameyard                              404  404  404  404  404  404  404  404  404  404
GET    /download/gameyard-adapter.tgz                  200  200  200  200  200  200  200  200  200  200
GET    /download/gameyard-browser.tgz                  200  200  200  200  200  200  200  200  200  200
GET    /download/gameyard-engines.tgz                  200  200  200  200  200  200  200  200  200  200
GET    /download/gameyard-room.tgz                     200  200  200  200  200  200  200  200  200  200
GET    /download/gameyard-sdk.tgz                      200  200  200  200  200  200  200  200  200  200
GET    /download/gameyard.exe                          404  404  404  404  404  404  404  404  404  404
GET    /download/gameyard.sha256                       404  404  404  404  404  404  404  404  404  404
GET    /favicon.ico                                    200  200  200  200  200  200  200  200  200  200
GET    /feed.xml                                       200  200  200  200  200  200  200  200  200  200
GET    /legal/privacy                                  404  404  404  404  404  404  404  404  404  404
GET    /legal/terms                                    404  404  404  404  404  404  404  404  404  404
GET    /healthz                                        200  200  200  200  200  200  200  200  200  200
GET    /join                                           200  200  200  200  200  200  200  200  200  200
GET    /join/certificate                               200  200  200  200  200  200  200  200  200  200
GET    /join/certificate/gameyard-lan.crt              404  404  404  404  404  404  404  404  404  404
GET    /manifest.webmanifest                           200  200  200  200  200  200  200  200  200  200
GET    /media/:gameId/:file                            404  404  404  404  404  404  404  404  404  404
GET    /metrics                                        200  200  200  200  200  200  200  200  200  200
GET    /mount.js                                       200  200  200  200  200  200  200  200  200  200
GET    /openapi.json                                   200  200  200  200  200  200  200  200  200  200
GET    /players/:id                                    200  200  200  200  200  200  200  200  200  200
GET    /players/me                                     303  303  303  303  303  303  303  303  303  303
GET    /readyz                                         200  200  200  200  200  200  200  200  200  200
GET    /robots.txt                                     200  200  200  200  200  200  200  200  200  200
GET    /scripts.json                                   200  200  200  200  200  200  200  200  200  200
GET    /sitemap.xml                                    200  200  200  200  200  200  200  200  200  200
GET    /sitemaps/:name/:part                           400  400  400  400  400  400  400  400  400  400
GET    /widget.js                                      200  200  200  200  200  200  200  200  200  200

# API: what is public
GET    /api/docs/search                                400  400  400  400  400  400  400  400  400  400

# API: accounts and sessions
POST   /api/auth/guest                                 400  400  400  400  400  400  400  400  400  400
POST   /api/auth/passkeys                              400  401  400  400  400  400  400  400  400  400
POST   /api/auth/passkeys/options                      200  401  200  200  200  200  200  200  200  200
POST   /api/auth/passkeys/sign-in                      400  400  400  400  400  400  400  400  400  400
POST   /api/auth/passkeys/sign-in/options              200  200  200  200  200  200  200  200  200  200
GET    /api/auth/session                               200  200  200  200  200  200  200  200  200  200
POST   /api/auth/sign-in                               400  400  400  400  400  400  400  400  400  400
POST   /api/auth/sign-out                              204  204  204  204  204  204  204  204  204  204
POST   /api/auth/sign-up                               400  400  400  400  400  400  400  400  400  400

# API: OAuth
GET    /api/oauth/apps                                 200  401  200  200  200  200  200  200  200  200
POST   /api/oauth/apps                                 400  401  400  400  400  400  400  400  400  400
GET    /api/oauth/apps/:id                             200  401  404  404  404  404  404  404  404  404
PATCH  /api/oauth/apps/:id                             400  401  404  404  404  404  404  404  404  404
DELETE /api/oauth/apps/:id                             204  401  404  404  404  404  404  404  404  404
GET    /api/oauth/apps/:id/analytics                   200  401  404  404  404  404  404  404  404  404
POST   /api/oauth/apps/:id/secret                      200  401  404  404  404  404  404  404  404  404
POST   /api/oauth/device_authorization                 415  415  415  415  415  415  415  415  415  415
POST   /api/oauth/introspect                           415  415  415  415  415  415  415  415  415  415
GET    /api/oauth/jwks                                 200  200  200  200  200  200  200  200  200  200
POST   /api/oauth/register                             400  400  400  400  400  400  400  400  400  400
POST   /api/oauth/revoke                               415  415  415  415  415  415  415  415  415  415
POST   /api/oauth/token                                415  415  415  415  415  415  415  415  415  415
GET    /api/oauth/userinfo                             403  401  403  403  403  403  403  403  403  403
POST   /api/oauth/userinfo                             403  401  403  403  403  403  403  403  403  403

# API: tokens
DELETE /api/cli/tokens                                 204  401  204  204  204  204  204  204  204  204
GET    /api/cli/whoami                                 200  401  200  200  200  200  200  200  200  200
GET    /api/tokens                                     200  401  200  200  200  200  200  200  200  200
POST   /api/tokens                                     400  401  400  400  400  400  400  400  400  400
DELETE /api/tokens/:id                                 204  401  404  404  404  404  404  404  404  404

# API: games and deploys
GET    /api/catalog/games                              200  200  200  200  200  200  200  200  200  200
POST   /api/deploy                                     400  401  400  400  400  400  400  400  400  400
GET    /api/deploy/:deployId                           200  401  404  404  404  404  404  200  404  404
PATCH  /api/deploy/:deployId                           400  401  404  404  404  404  404  400  404  404
DELETE /api/deploy/:deployId                           409  401  404  404  404  404  404  409  404  404
GET    /api/deploy/:deployId/bundle                    403  403  403  403  403  403  403  403  403  403
PUT    /api/deploy/:deployId/bundle                    403  403  403  403  403  403  403  403  403  403
PUT    /api/deploy/:deployId/files/:sha256             403  403  403  403  403  403  403  403  403  403
POST   /api/deploy/:deployId/finalize                  200  401  404  404  404  404  404  200  404  404
POST   /api/deploy/:deployId/rollback                  200  401  404  404  404  404  404  200  404  404
GET    /api/games                                      200  401  200  200  200  200  200  200  200  200
POST   /api/games                                      400  401  400  400  400  400  400  400  400  400
GET    /api/games/:id                                  200  401  404  404  404  404  404  200  404  404
PATCH  /api/games/:id                                  400  401  404  404  404  404  404  400  404  404
DELETE /api/games/:id                                  204  401  404  404  404  404  404  403  404  404
GET    /api/games/:id/analytics                        200  401  404  404  404  404  404  200  404  404
GET    /api/games/:id/activity                         200  401  404  404  404  404  404  200  404  404
GET    /api/games/:id/members                          200  401  404  404  404  404  404  200  404  404
PATCH  /api/games/:id/members/:playerId                400  401  404  404  404  404  404  403  404  404
DELETE /api/games/:id/members/:playerId                409  401  404  404  404  404  404  403  404  404
GET    /api/games/:id/invitations                      200  401  404  404  404  404  404  403  404  404
POST   /api/games/:id/invitations                      400  401  404  404  404  404  404  403  404  404
DELETE /api/games/:id/invitations/:invitationId        404  401  404  404  404  404  404  403  404  404
GET    /api/games/:id/transfer                         404  401  404  404  404  404  404  404  404  404
POST   /api/games/:id/transfer                         400  401  404  404  404  404  404  403  404  404
DELETE /api/games/:id/transfer                         404  401  404  404  404  404  404  404  404  404
POST   /api/games/:id/transfer/accept                  404  401  404  404  404  404  404  404  404  404
GET    /api/games/:id/invitations/players              400  401  404  404  404  404  404  403  404  404
GET    /api/games/:id/logs                             200  401  404  404  404  404  404  200  404  404
GET    /api/games/:id/boards                           200  401  404  404  404  404  404  200  404  404
GET    /api/games/:id/boards/:boardId                  200  401  404  404  404  404  404  200  404  404
PUT    /api/games/:id/boards/:boardId                  400  401  404  404  404  404  404  400  404  404
DELETE /api/games/:id/boards/:boardId                  204  401  404  404  404  404  404  204  404  404
GET    /api/games/:id/boards/:boardId/scores           200  404  404  404  404  404  404  200  200  404
DELETE /api/games/:id/boards/:boardId/scores/:playerId 204  401  404  404  404  404  404  204  404  404
GET    /api/games/:id/boards/:boardId/excluded         200  401  404  404  404  404  404  200  404  404
PUT    /api/games/:id/boards/:boardId/excluded/:playerId 204  401  404  404  404  404  404  204  404  404
DELETE /api/games/:id/boards/:boardId/excluded/:playerId 404  401  404  404  404  404  404  404  404  404
GET    /api/games/:id/deploys                          200  401  404  404  404  404  404  200  404  404
GET    /api/games/:id/deploys/:deployId/archive        200  401  404  404  404  404  404  200  404  404
GET    /api/games/:id/draft                            200  401  404  404  404  404  404  200  404  404
PATCH  /api/games/:id/draft                            400  401  404  404  404  404  404  400  404  404
DELETE /api/games/:id/draft                            204  401  404  404  404  404  404  204  404  404
GET    /api/games/:id/draft/files/:path                404  401  404  404  404  404  404  404  404  404
PUT    /api/games/:id/draft/files/:path                200  401  404  404  404  404  404  200  404  404
DELETE /api/games/:id/draft/files/:path                404  401  404  404  404  404  404  404  404  404
POST   /api/games/:id/draft/rename                     400  401  404  404  404  404  404  400  404  404
POST   /api/games/:id/draft/rebase                     200  401  404  404  404  404  404  200  404  404
POST   /api/games/:id/draft/publish                    400  401  404  404  404  404  404  400  404  404
GET    /api/games/:id/diff                             200  401  404  404  404  404  404  200  404  404
GET    /api/games/:id/domains                          200  401  404  404  404  404  404  200  404  404
POST   /api/games/:id/domains                          400  401  404  404  404  404  404  400  404  404
PATCH  /api/games/:id/domains/:name                    400  401  404  404  404  404  404  400  404  404
DELETE /api/games/:id/domains/:name                    404  401  404  404  404  404  404  404  404  404
POST   /api/games/:id/domains/:name/verify             404  401  404  404  404  404  404  404  404  404
POST   /api/games/:id/media                            400  401  404  404  404  404  404  400  404  404
DELETE /api/games/:id/media/:mediaId                   404  401  404  404  404  404  404  404  404  404
POST   /api/games/:id/appeal                           400  401  404  404  404  404  404  403  404  404
POST   /api/games/:id/remix                            403  401  404  404  404  404  404  403  403  404
POST   /api/games/:id/restore                          404  401  404  404  404  404  404  404  404  404
POST   /api/games/:id/secret                           200  401  404  404  404  404  404  403  404  404

# API: the jam
GET    /api/jam                                        404  404  404  404  404  404  404  404  404  404
POST   /api/jam                                        403  401  403  403  403  403  400  403  403  403
PATCH  /api/jam                                        403  401  403  403  403  403  400  403  403  403
POST   /api/jam/entries                                400  401  400  400  400  400  400  400  400  400
DELETE /api/jam/entries/:gameId                        404  401  404  404  404  404  404  404  404  404
GET    /api/jam/results                                404  404  404  404  404  404  404  404  404  404
PUT    /api/jam/votes/:categoryId                      400  401  400  400  400  400  400  400  400  400
DELETE /api/jam/votes/:categoryId                      404  401  404  404  404  404  404  404  404  404

# Forms that report a thing
GET    /games/:slug/report                             200  404  404  404  404  404  404  200  200  404
POST   /games/:slug/report                             400  400  400  400  400  400  400  400  400  400
GET    /assets/:slug/report                            200  404  404  404  404  404  404  200  404  404
POST   /assets/:slug/report                            400  400  400  400  400  400  400  400  400  400
GET    /players/:id/report                             200  200  200  200  200  200  200  200  200  200
POST   /players/:id/report                             400  400  400  400  400  400  400  400  400  400

# API: reports
POST   /api/reports                                    400  400  400  400  400  400  400  400  400  400
GET    /api/admin/reports                              403  401  403  403  403  200  200  403  403  403
POST   /api/admin/reports/:id                          403  401  403  403  403  400  400  403  403  403
POST   /api/admin/reports/undo                         403  401  403  403  403  400  400  403  403  403

# API: quotas
GET    /api/usage                                      200  401  200  200  200  200  200  200  200  200
PUT    /api/admin/players/:playerId/trust              403  401  403  403  403  400  400  403  403  403
GET    /api/admin/players/:playerId/quotas             403  401  403  403  403  403  200  403  403  403
PATCH  /api/admin/players/:playerId/quotas             403  401  403  403  403  403  400  403  403  403

# API: saves, for access tokens of games
GET    /api/saves                                      403  401  403  403  403  403  403  403  403  403
GET    /api/saves/:key                                 403  401  403  403  403  403  403  403  403  403
PUT    /api/saves/:key                                 403  401  403  403  403  403  403  403  403  403
DELETE /api/saves/:key                                 403  401  403  403  403  403  403  403  403  403
GET    /api/saves/:key/versions                        403  401  403  403  403  403  403  403  403  403
POST   /api/saves/:key/restore                         403  401  403  403  403  403  403  403  403  403

# API: assistants
GET    /.well-known/oauth-protected-resource           200  200  200  200  200  200  200  200  200  200
GET    /.well-known/oauth-protected-resource/mcp       200  200  200  200  200  200  200  200  200  200
GET    /llms.txt                                       200  200  200  200  200  200  200  200  200  200
GET    /docs/:file(^[a-z0-9-]+\\.md$)                  404  404  404  404  404  404  404  404  404  404
POST   /mcp                                            415  401  415  415  415  415  415  415  415  415

# API: AI and credits
GET    /api/ai/credits                                 200  401  200  200  200  200  200  200  200  200
POST   /api/ai/generate                                400  401  400  400  400  400  400  400  400  400
POST   /api/payments/checkout                          503  401  503  503  503  503  503  503  503  503
GET    /api/payments/packs                             200  200  200  200  200  200  200  200  200  200
GET    /api/payments/purchases/:purchaseId             404  401  404  404  404  404  404  404  404  404
POST   /api/payments/webhook                           400  400  400  400  400  400  400  400  400  400

# API: assets and Blender
GET    /api/assets                                     200  200  200  200  200  200  200  200  200  200
POST   /api/assets                                     400  401  400  400  400  400  400  400  400  400
GET    /api/assets/:id                                 200  404  404  404  404  404  404  200  404  404
PATCH  /api/assets/:id                                 400  401  404  404  404  404  404  400  404  404
DELETE /api/assets/:id                                 204  401  404  404  404  404  404  403  404  404
GET    /api/assets/:id/animation/:preset               422  404  404  404  404  404  404  422  404  404
POST   /api/assets/:id/appeal                          400  401  404  404  404  404  404  403  404  404
POST   /api/assets/:id/animations                      400  401  404  404  404  404  404  400  404  404
DELETE /api/assets/:id/animations                      400  401  404  404  404  404  404  400  404  404
GET    /api/assets/:id/file                            200  404  404  404  404  404  404  200  404  404
GET    /api/assets/:id/files/*                         404  404  404  404  404  404  404  404  404  404
GET    /api/assets/:id/manifest                        200  404  404  404  404  404  404  200  404  404
POST   /api/assets/:id/publish                         200  401  404  404  404  404  404  200  404  404
GET    /api/assets/:id/thumbnail                       200  404  404  404  404  404  404  200  404  404
POST   /api/assets/:id/unpublish                       200  401  404  404  404  404  404  200  404  404
GET    /api/blender/health                             200  401  200  200  200  200  200  200  200  200
GET    /api/blender/v1/capabilities                    200  401  200  200  200  200  200  200  200  200
GET    /api/blender/v1/jobs                            200  401  200  200  200  200  200  200  200  200
POST   /api/blender/v1/jobs                            400  401  400  400  400  400  400  400  400  400
GET    /api/blender/v1/jobs/:id                        200  401  404  404  404  404  404  200  404  404
POST   /api/blender/v1/jobs/:id/actions                400  401  404  404  404  404  404  400  404  404
GET    /api/blender/v1/jobs/:id/artifacts              200  401  404  404  404  404  404  200  404  404
GET    /api/blender/v1/jobs/:id/artifacts/:name        404  401  404  404  404  404  404  404  404  404
POST   /api/blender/v1/jobs/:id/cancel                 200  401  404  404  404  404  404  200  404  404
GET    /api/blender/v1/jobs/:id/events                 200  401  404  404  404  404  404  200  404  404
GET    /api/blender/v1/jobs/:id/log                    200  401  404  404  404  404  404  200  404  404
GET    /api/blender/v1/library                         200  401  200  200  200  200  200  200  200  200
GET    /api/blender/v1/library/:id                     200  401  200  200  200  200  200  200  200  200
GET    /api/blender/v1/templates                       200  401  200  200  200  200  200  200  200  200
POST   /api/generations                                400  401  400  400  400  400  400  400  400  400
GET    /api/generations/:id                            200  401  404  404  404  404  404  200  404  404

# Pages: signing in
GET    /.well-known/oauth-authorization-server         200  200  200  200  200  200  200  200  200  200
GET    /.well-known/openid-configuration               200  200  200  200  200  200  200  200  200  200
GET    /confirm/:token                                 410  410  410  410  410  410  410  410  410  410
POST   /confirm/:token                                 400  400  400  400  400  400  400  400  400  400
GET    /connect/:token                                 410  303  410  410  410  410  410  410  410  410
POST   /connect/:token                                 410  303  410  410  410  410  410  410  410  410
POST   /guest                                          400  400  400  400  400  400  400  400  400  400
GET    /invite/:token                                  410  410  410  410  410  410  410  410  410  410
POST   /invite/:token                                  400  400  400  400  400  400  400  400  400  400
GET    /new-email/:token                               410  303  410  410  410  410  410  410  410  410
POST   /new-email/:token                               410  303  410  410  410  410  410  410  410  410
GET    /oauth/authorize                                400  400  400  400  400  400  400  400  400  400
POST   /oauth/authorize                                303  303  303  303  303  303  303  303  303  303
GET    /oauth/continue                                 400  400  400  400  400  400  400  400  400  400
POST   /oauth/consent                                  400  303  400  400  400  400  400  400  400  400
GET    /oauth/device                                   200  303  200  200  200  200  200  200  200  200
POST   /oauth/device                                   400  303  400  400  400  400  400  400  400  400
GET    /oauth/logout                                   200  303  200  200  200  200  200  200  200  200
POST   /oauth/logout                                   400  400  400  400  400  400  400  400  400  400
POST   /oauth/logout/confirm                           400  303  400  400  400  400  400  400  400  400
GET    /reset-password                                 200  200  200  200  200  200  200  200  200  200
POST   /reset-password                                 400  400  400  400  400  400  400  400  400  400
GET    /reset-password/:token                          410  410  410  410  410  410  410  410  410  410
POST   /reset-password/:token                          400  400  400  400  400  400  400  400  400  400
GET    /setup/:token                                   410  410  410  410  410  410  410  410  410  410
POST   /setup/:token                                   400  400  400  400  400  400  400  400  400  400
GET    /sign-in                                        303  200  303  303  303  303  303  303  303  303
POST   /sign-in                                        400  400  400  400  400  400  400  400  400  400
GET    /sign-in/with/:provider                         404  404  404  404  404  404  404  404  404  404
GET    /sign-in/with/:provider/callback                404  404  404  404  404  404  404  404  404  404
GET    /sign-out                                       200  303  200  200  200  200  200  200  200  200
POST   /sign-out                                       303  303  303  303  303  303  303  303  303  303
GET    /sign-up                                        303  200  303  303  303  303  303  303  303  303
POST   /sign-up                                        400  400  400  400  400  400  400  400  400  400
GET    /verify-email/:token                            200  303  200  200  200  200  200  200  200  200
POST   /verify-email/:token                            410  303  410  410  410  410  410  410  410  410

# Pages: settings
GET    /settings                                       200  303  200  200  200  200  200  200  200  200
POST   /settings/accounts/disconnect                   400  303  400  400  400  400  400  400  400  400
GET    /settings/storage                               200  303  200  200  200  200  200  200  200  200
GET    /settings/messages                              200  303  200  200  200  200  200  200  200  200
POST   /settings/storage/remove                        400  303  400  400  400  400  400  400  400  400
GET    /settings/saves                                 200  303  200  200  200  200  200  200  200  200
GET    /settings/saves/:gameId/:key                    404  303  404  404  404  404  404  404  404  404
GET    /settings/saves/:gameId/:key/value              404  303  404  404  404  404  404  404  404  404
POST   /settings/saves/:gameId/:key/delete             404  303  404  404  404  404  404  404  404  404
POST   /settings/saves/:gameId/:key/restore            400  303  400  400  400  400  400  400  400  400
GET    /settings/ai                                    200  303  200  200  200  200  200  200  200  200
GET    /settings/ai/:gameId                            200  303  404  404  404  404  404  200  200  404
POST   /settings/ai/:gameId                            400  303  400  400  400  400  400  400  400  400
POST   /settings/ai/:gameId/revoke                     303  303  303  303  303  303  303  303  303  303
GET    /settings/connected                             200  303  200  200  200  200  200  200  200  200
POST   /settings/connected/:clientId/revoke            404  303  404  404  404  404  404  404  404  404
POST   /settings/delete                                400  303  400  400  400  400  400  400  400  400
POST   /settings/email                                 400  303  400  400  400  400  400  400  400  400
GET    /settings/export                                200  303  200  200  200  200  200  200  200  200
POST   /settings/name                                  400  303  400  400  400  400  400  400  400  400
POST   /settings/passkeys/remove                       400  303  400  400  400  400  400  400  400  400
POST   /settings/password                              400  303  400  400  400  400  400  400  400  400
POST   /settings/picture                               400  303  400  400  400  400  400  400  400  400
POST   /settings/picture/remove                        303  303  303  303  303  303  303  303  303  303
GET    /settings/security                              200  303  200  200  200  200  200  200  200  200
POST   /settings/sessions/:id/revoke                   303  303  404  404  404  404  404  404  404  404
POST   /settings/sessions/revoke-others                303  303  303  303  303  303  303  303  303  303
GET    /settings/tokens                                200  303  200  200  200  200  200  200  200  200
POST   /settings/tokens                                400  303  400  400  400  400  400  400  400  400
POST   /settings/tokens/:id/revoke                     303  303  404  404  404  404  404  404  404  404
POST   /settings/upgrade                               400  303  400  400  400  400  400  400  400  400
POST   /settings/verify-email                          202  303  409  202  202  202  202  202  202  202

# Pages: games
GET    /games                                          200  303  200  200  200  200  200  200  200  200
GET    /games/:slug                                    200  404  404  404  404  404  404  200  200  404
GET    /games/:slug/ai                                 200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/analytics                          200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/activity                           200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/card.png                           404  404  404  404  404  404  404  404  404  404
GET    /games/:slug/code                               200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/code/preview                       303  303  404  404  404  404  404  303  404  404
GET    /games/:slug/assets                             200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/blender                            200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/deploys                            200  303  404  404  404  404  404  200  404  404
POST   /games/:slug/deploys                            400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/deploys/:deployId/delete           409  303  404  404  404  404  404  409  404  404
POST   /games/:slug/deploys/:deployId/pin              303  303  404  404  404  404  404  303  404  404
POST   /games/:slug/deploys/:deployId/unpin            303  303  404  404  404  404  404  303  404  404
GET    /games/:slug/deploys/:deployId/preview          303  303  404  404  404  404  404  303  303  404
POST   /games/:slug/deploys/:deployId/rollback         303  303  404  404  404  404  404  303  404  404
GET    /games/:slug/integrate                          200  303  404  404  404  404  404  200  404  404
POST   /games/:slug/integrate/secret                   200  303  404  404  404  404  404  403  404  404
GET    /games/:slug/join/:key                          404  303  404  404  404  404  404  404  404  404
POST   /games/:slug/join/:key                          404  303  404  404  404  404  404  404  404  404
POST   /games/:slug/appeal                             400  303  404  404  404  404  404  403  404  404
GET    /games/:slug/overview                           200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/rooms                              200  303  404  404  404  404  404  200  404  404
GET    /games/:slug/settings                           200  303  404  404  404  404  404  200  404  404
POST   /games/:slug/settings                           400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/settings/address                   400  303  404  404  404  404  404  403  404  404
POST   /games/:slug/settings/delete                    400  303  404  404  404  404  404  403  404  404
GET    /games/:slug/boards/:board                      200  404  404  404  404  404  404  200  200  404
GET    /games/:slug/remix                              403  303  404  404  404  404  404  403  403  404
POST   /games/:slug/remix                              403  303  404  404  404  404  404  403  403  404
GET    /games/:slug/scores                             200  303  404  404  404  404  404  200  404  404
POST   /games/:slug/scores                             400  303  404  404  404  404  404  400  404  404
GET    /games/:slug/scores/:board                      200  303  404  404  404  404  404  200  404  404
POST   /games/:slug/scores/:board                      400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/scores/:board/change               400  303  404  404  404  404  404  400  404  404
GET    /games/:slug/settings/domains                   200  303  404  404  404  404  404  200  404  404
POST   /games/:slug/settings/domains                   400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/settings/domains/change            400  303  404  404  404  404  404  400  404  404
GET    /games/:slug/team                               200  303  404  404  404  404  404  200  404  404
POST   /games/:slug/team/invitations                   400  303  404  404  404  404  404  403  404  404
POST   /games/:slug/team/revoke                        400  303  404  404  404  404  404  403  404  404
POST   /games/:slug/team/role                          400  303  404  404  404  404  404  403  404  404
POST   /games/:slug/team/remove                        400  303  404  404  404  404  404  400  400  404
POST   /games/:slug/team/transfer                      400  303  404  404  404  404  404  403  404  404
POST   /games/:slug/team/transfer/end                  404  303  404  404  404  404  404  404  404  404
POST   /games/:slug/team/transfer/accept               404  303  404  404  404  404  404  404  404  404
GET    /invitations/:id/:key                           404  404  404  404  404  404  404  404  404  404
POST   /invitations/:id/:key                           404  303  404  404  404  404  404  404  404  404
POST   /invitations/:id/:key/decline                   404  303  404  404  404  404  404  404  404  404
POST   /games/:slug/settings/media                     400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/settings/media/cover               400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/settings/media/remove              400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/settings/features                  400  303  404  404  404  404  404  400  404  404
POST   /games/:slug/settings/serving                   400  303  404  404  404  404  404  400  404  404
GET    /games/:slug/sign-in                            200  303  404  404  404  404  404  200  404  404
GET    /games/new                                      200  303  200  200  200  200  200  200  200  200
POST   /games/new                                      400  303  400  400  400  400  400  400  400  400
GET    /games/new/starter                              200  303  200  200  200  200  200  200  200  200
POST   /games/new/starter                              400  303  400  400  400  400  400  400  400  400
POST   /games/:slug/play-ticket                        400  401  404  404  404  404  404  400  400  404
POST   /games/restore                                  400  303  400  400  400  400  400  400  400  400
POST   /games/erase                                    400  303  400  400  400  400  400  400  400  400
GET    /live/games                                     200  401  200  200  200  200  200  200  200  200
GET    /live/games/:slug                               200  401  404  404  404  404  404  200  404  404
GET    /live/games/:slug/code                          200  401  404  404  404  404  404  200  404  404
GET    /live/games/:slug/rooms                         200  401  404  404  404  404  404  200  404  404
GET    /live/jam                                       200  200  200  200  200  200  200  200  200  200

# Pages: assets, jobs, credits, the jam
GET    /assets                                         200  200  200  200  200  200  200  200  200  200
GET    /assets/:id/animation/:preset                   422  404  404  404  404  404  404  422  404  404
GET    /assets/:id/file                                200  404  404  404  404  404  404  200  404  404
GET    /assets/:id/thumbnail                           200  404  404  404  404  404  404  200  404  404
GET    /assets/:slug                                   200  404  404  404  404  404  404  200  404  404
POST   /assets/:slug/appeal                            400  303  404  404  404  404  404  403  404  404
POST   /assets/:slug/delete                            303  303  404  404  404  404  404  403  404  404
GET    /assets/:slug/edit                              200  303  404  404  404  404  404  200  404  404
POST   /assets/:slug/edit                              400  303  404  404  404  404  404  400  404  404
POST   /assets/:slug/publish                           303  303  404  404  404  404  404  303  404  404
POST   /assets/:slug/unpublish                         303  303  404  404  404  404  404  303  404  404
GET    /assets/mine                                    200  303  200  200  200  200  200  200  200  200
GET    /assets/new                                     200  303  200  200  200  200  200  200  200  200
POST   /assets/new                                     400  303  400  400  400  400  400  400  400  400
GET    /blender                                        200  303  200  200  200  200  200  200  200  200
GET    /blender/jobs/:id                               200  303  404  404  404  404  404  200  404  404
POST   /blender/jobs/:id/cancel                        303  303  404  404  404  404  404  303  404  404
GET    /blender/jobs/:id/events                        200  303  404  404  404  404  404  200  404  404
GET    /blender/jobs/:id/files/:name                   404  303  404  404  404  404  404  404  404  404
POST   /blender/jobs/:id/revise                        400  303  404  404  404  404  404  400  404  404
GET    /blender/new                                    200  303  200  200  200  200  200  200  200  200
POST   /blender/new                                    400  303  400  400  400  400  400  400  400  400
GET    /credits                                        200  303  200  200  200  200  200  200  200  200
POST   /credits/buy                                    400  303  400  400  400  400  400  400  400  400
GET    /jam                                            200  200  200  200  200  200  200  200  200  200
POST   /jam                                            403  303  403  403  403  403  400  403  403  403
POST   /jam/entries                                    400  303  400  400  400  400  400  400  400  400
POST   /jam/entries/withdraw                           400  303  400  400  400  400  400  400  400  400
GET    /jam/results                                    303  303  303  303  303  303  303  303  303  303
GET    /jam/past                                       200  200  200  200  200  200  200  200  200  200
GET    /jam/past/:jamId                                404  404  404  404  404  404  404  404  404  404
POST   /jam/results                                    403  303  403  403  403  403  400  403  403  403
POST   /jam/settings                                   403  303  403  403  403  403  400  403  403  403
POST   /jam/switch                                     403  303  403  403  403  403  400  403  403  403
POST   /jam/votes                                      400  303  400  400  400  400  400  400  400  400
GET    /playground                                     200  303  200  200  200  200  200  200  200  200
POST   /playground                                     400  303  400  400  400  400  400  400  400  400

# Pages: administration
GET    /admin                                          403  303  403  403  403  403  200  403  403  403
GET    /admin/approvals                                403  303  403  403  403  200  200  403  403  403
POST   /admin/approvals/:id/approve                    403  303  403  403  403  409  409  403  403  403
POST   /admin/approvals/:id/review                     403  303  403  403  403  409  409  403  403  403
POST   /admin/approvals/:id/refuse                     403  303  403  403  403  400  400  403  403  403
GET    /admin/assets/:slug/suspend                     403  303  403  403  403  200  200  403  403  403
POST   /admin/assets/:slug/lift                        403  303  403  403  403  303  303  403  403  403
POST   /admin/assets/:slug/suspend                     403  303  403  403  403  400  400  403  403  403
POST   /admin/assets/:slug/curate                      403  303  403  403  403  403  409  403  403  403
POST   /admin/assets/:slug/release                     403  303  403  403  403  403  303  403  403  403
POST   /admin/backup                                   403  303  403  403  403  403  200  403  403  403
GET    /admin/audit                                    403  303  403  403  403  403  200  403  403  403
GET    /admin/audit.jsonl                              403  303  403  403  403  403  200  403  403  403
GET    /admin/config                                   403  303  403  403  403  403  200  403  403  403
GET    /admin/credits                                  403  303  403  403  403  403  200  403  403  403
POST   /admin/credits                                  403  303  403  403  403  403  400  403  403  403
GET    /admin/domains                                  403  303  403  403  403  403  200  403  403  403
POST   /admin/domains/:id/remove                       403  303  403  403  403  403  404  403  403  403
GET    /admin/games                                    403  303  403  403  403  200  200  403  403  403
GET    /admin/games/:id/suspend                        403  303  403  403  403  200  200  403  403  403
GET    /admin/games/:id/hand-over                      403  303  403  403  403  403  200  403  403  403
POST   /admin/games/:id/hand-over                      403  303  403  403  403  403  400  403  403  403
POST   /admin/games/:id/lift                           403  303  403  403  403  303  303  403  403  403
POST   /admin/games/:id/suspend                        403  303  403  403  403  400  400  403  403  403
GET    /admin/invitations                              403  303  403  403  403  403  200  403  403  403
POST   /admin/invitations                              403  303  403  403  403  403  400  403  403  403
POST   /admin/invitations/:id/withdraw                 403  303  403  403  403  403  404  403  403  403
GET    /admin/jobs                                     403  303  403  403  403  403  200  403  403  403
POST   /admin/jobs/:id/retry                           403  303  403  403  403  403  303  403  403  403
GET    /admin/log                                      403  303  403  403  403  403  200  403  403  403
GET    /admin/reports                                  403  303  403  403  403  200  200  403  403  403
POST   /admin/reports/:id                              403  303  403  403  403  400  400  403  403  403
POST   /admin/reports/undo                             403  303  403  403  403  400  400  403  403  403
GET    /admin/quotas                                   403  303  403  403  403  403  200  403  403  403
GET    /admin/quotas/:playerId                         403  303  403  403  403  403  200  403  403  403
POST   /admin/quotas/:playerId                         403  303  403  403  403  403  400  403  403  403
GET    /admin/players                                  403  303  403  403  403  200  200  403  403  403
GET    /admin/players/:id                              403  303  403  403  403  200  200  403  403  403
POST   /admin/players/:id/delete                       403  303  403  403  403  403  400  403  403  403
POST   /admin/players/:id/disable                      403  303  403  403  403  303  303  403  403  403
POST   /admin/players/:id/enable                       403  303  403  403  403  303  303  403  403  403
POST   /admin/players/:id/trust                        403  303  403  403  403  303  303  403  403  403
POST   /admin/players/:id/distrust                     403  303  403  403  403  303  303  403  403  403
POST   /admin/players/:id/role                         403  303  403  403  403  403  400  403  403  403
POST   /admin/players/:id/sign-out                     403  303  403  403  403  403  303  403  403  403
GET    /admin/storage                                  403  303  403  403  403  403  200  403  403  403
POST   /admin/storage/count                            403  303  403  403  403  403  303  403  403  403

# At the origin of the owner's game, which is private
GET    /*                                              404  404  404  404  404  404  404  404  404  404
GET    /__service/:file(^[a-z-]+\\.\\w{8}\\.js$)       404  404  404  404  404  404  404  404  404  404
GET    /__service/assets/:file                         404  404  404  404  404  404  404  404  404  404
GET    /__service/assets/:file/*                       404  404  404  404  404  404  404  404  404  404
GET    /__service/auth-widget.js                       200  200  200  200  200  200  200  200  200  200
GET    /__service/frame-worker.js                      200  200  200  200  200  200  200  200  200  200
GET    /__service/engine.js                            200  200  200  200  200  200  200  200  200  200
GET    /__service/mount.js                             200  200  200  200  200  200  200  200  200  200
GET    /__service/multiplayer.js                       200  200  200  200  200  200  200  200  200  200
GET    /__service/scores.js                            200  200  200  200  200  200  200  200  200  200
POST   /__service/ai                                   404  404  404  404  404  404  404  404  404  404
GET    /__service/ai.js                                200  200  200  200  200  200  200  200  200  200
GET    /__service/scores/:board                        404  404  404  404  404  404  404  404  404  404
POST   /__service/scores/:board                        400  400  400  400  400  400  400  400  400  400
GET    /auth/service/callback                          400  400  400  400  400  400  400  400  400  400
GET    /auth/service/logout                            200  200  200  200  200  200  200  200  200  200
POST   /auth/service/logout                            200  200  200  200  200  200  200  200  200  200
POST   /auth/service/embed                             400  400  400  400  400  400  400  400  400  400
POST   /auth/service/frame-token                       400  400  400  400  400  400  400  400  400  400
POST   /auth/service/hand-over                         400  400  400  400  400  400  400  400  400  400
GET    /auth/service/window                            200  200  200  200  200  200  200  200  200  200
GET    /auth/service/preview                           404  404  404  404  404  404  404  404  404  404
GET    /auth/service/session                           200  200  200  200  200  200  200  200  200  200
GET    /auth/service/start                             302  302  302  302  302  302  302  302  302  302
GET    /__service/saves.js                             200  200  200  200  200  200  200  200  200  200
GET    /__service/saves                                404  404  404  404  404  404  404  404  404  404
GET    /__service/saves/:key                           404  404  404  404  404  404  404  404  404  404
PUT    /__service/saves/:key                           404  404  404  404  404  404  404  404  404  404
DELETE /__service/saves/:key                           404  404  404  404  404  404  404  404  404  404
GET    /__service/saves/:key/versions                  404  404  404  404  404  404  404  404  404  404
POST   /__service/saves/:key/restore                   404  404  404  404  404  404  404  404  404  404
GET    /mp                                             404  404  404  404  404  404  404  404  404  404
GET    /mp/rooms                                       404  404  404  404  404  404  404  404  404  404
GET    /mp/rooms/:roomId                               404  404  404  404  404  404  404  404  404  404
`

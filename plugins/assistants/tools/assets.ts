import { Readable } from 'node:stream'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { Tags } from '../../../core/tags.ts'
import { VISIBLE_PATTERN } from '../../../core/visible-text.ts'
import { fileOf } from '../file-bytes.ts'
import { CALL_LIMIT } from '../message-size.ts'
import { From } from '../stored-files.ts'
import { defineTools } from '../tool.ts'

export const assetTools = defineTools([
  {
    name: 'assets_search',
    title: 'Search the asset library',
    route: 'GET /api/assets',
    description:
      'Finds 3D models, packs, pictures and sounds that games may hot-link: public ones, with `owner: "me"` your own, or with `gameId` those of a game that you make. `license` finds what may be used under a license. `fileUrl` is the address to load.',
    effect: 'reads',
    scope: 'assets:read',
    call: ({ app, playerId }, query) => app.assets.list(playerId, { limit: 20, ...query }),
  },
  {
    name: 'asset_get',
    title: 'Look at an asset',
    route: 'GET /api/assets/:id',
    description: 'Returns one asset with its files, lighter version, clips and addresses. `id` is its id or slug.',
    effect: 'reads',
    scope: 'assets:read',
    call: async ({ app, playerId }, { id }) => {
      const asset = await app.assets.find(id, playerId)
      if (!asset) throw new NotFound('asset')
      return app.assets.shownTo(playerId, asset)
    },
  },
  {
    name: 'asset_upload',
    title: 'Upload an asset',
    route: 'POST /api/assets',
    description: `Stores a model (.glb, .gltf, .vrm), a picture, a sound, or a ZIP archive of such, and returns the asset with its \`fileUrl\`. Private by default; players of a game load public assets only. ${CALL_LIMIT}`,
    effect: 'adds',
    input: {
      fileName: Type.String({ minLength: 1, maxLength: 200, description: 'Such as `robot.glb`.' }),
      base64: Type.Optional(Type.String({ description: 'The bytes of the file, or `from`.' })),
      from: Type.Optional(From),
      title: Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN }),
      description: Type.Optional(Type.String({ maxLength: 20_000 })),
      visibility: Type.Optional(Type.Enum(['public', 'private'])),
      license: Type.Optional(
        Type.String({
          maxLength: 100,
          pattern: '^[A-Za-z0-9.+()-]+(?: [A-Za-z0-9.+()-]+)*$',
          advice: 'Use an SPDX identifier or expression, such as CC-BY-4.0.',
          description: 'SPDX.',
        }),
      ),
      author: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          pattern: VISIBLE_PATTERN,
          description: 'Who made it, if not you.',
        }),
      ),
      tags: Type.Optional(Tags),
      gameId: Type.Optional(
        Type.String({ minLength: 1, maxLength: 63, description: 'A game that you make, whose makers may change it.' }),
      ),
    },
    call: async (call, { fileName, base64, from, ...fields }) => {
      const bytes = await fileOf(call, { base64, from })
      return call.app.assets.createFrom(call.playerId, fields, { name: fileName, body: Readable.from([bytes]) })
    },
  },
  {
    name: 'asset_update',
    title: 'Change an asset',
    route: 'PATCH /api/assets/:id',
    description:
      'Changes the named fields of an asset of yours, or of a game that you make: title, description, visibility (players of a game load public assets only), licence, author, tags, game, slug. Its files never change.',
    effect: 'replaces',
    repeatable: true,
    confirm: ({ id, visibility, slug }) =>
      visibility !== undefined || slug !== undefined
        ? `Change who can load the asset ${id}, or at which address?`
        : null,
    call: ({ app, playerId }, { id, ...changes }) => app.assets.changes.update(playerId, id, changes),
  },
  {
    name: 'asset_animate',
    title: 'Give a model an animation',
    route: 'POST /api/assets/:id/animations',
    description:
      'Gives a rigged model of yours a clip: a `preset` such as `idle` or `walk`, or `from` and `clip` of another asset. Returns the address of the animated model.',
    effect: 'adds',
    repeatable: true,
    call: ({ app, playerId }, { id, ...wanted }) => app.assets.animate(playerId, id, wanted),
  },
])

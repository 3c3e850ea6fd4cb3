import { Readable } from 'node:stream'
import Type from 'typebox'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { callerOf, TOKENS_AND_SESSION } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { DeployParams, GameParams } from '../schemas.ts'
import { archiveOf, type DownloadedFile } from './download.ts'
import { PROJECT_FILE } from './project-file.ts'

/** The archives of one caller in a minute. One may be as large as a whole build. */
const PER_MINUTE = 12

/** The download of a deploy. The page of the deploys links to it, and so it takes the browser session. */
export const downloadRoute: Routes = async (app) => {
  app.get(
    '/api/games/:id/deploys/:deployId/archive',
    {
      config: {
        auth: { scope: 'games:read', accepts: TOKENS_AND_SESSION },
        rateLimit: { max: PER_MINUTE, timeWindow: 60_000 },
      },
      constraints: { origin: 'portal' },
      schema: {
        summary: 'All files of a deploy in a ZIP archive, with its room script and a gameyard.json that names both',
        tags: ['deploys'],
        sends: { 200: { what: 'The archive.', types: ['application/zip'] } },
        params: Type.Object({ ...GameParams.properties, ...DeployParams.properties }),
      },
    },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      const { id, deployId } = request.params
      const game = await app.games.mustMake(playerId, id)
      const { gameId, room, state } = await app.deploys.get(playerId, deployId)
      if (gameId !== game.id) throw new NotFound('deploy')
      if (state !== 'live' && state !== 'superseded')
        throw new Conflict(`This deploy is ${state}: its files are not all there.`)
      const files: DownloadedFile[] = Array.from((await app.deploys.manifest(deployId)) ?? [], ([path, file]) => {
        return { path, size: file.size, open: () => app.deploys.openBlob(file) }
      })
      const project = { gameId: game.id, folder: '.', baseUrl: app.origins.portal, ...(room === null ? {} : { room }) }
      if (!files.some(({ path }) => path === PROJECT_FILE))
        files.unshift(inMemory(PROJECT_FILE, JSON.stringify(project)))
      const { size, body } = archiveOf(files)
      return reply
        .type('application/zip')
        .headers({
          'content-length': size,
          'content-disposition': `attachment; filename="${game.slug}-${deployId.slice(-10).toLowerCase()}.zip"`,
          'cache-control': 'private, no-store',
        })
        .send(body)
    },
  )
}

function inMemory(path: string, text: string): DownloadedFile {
  const bytes = Buffer.from(`${text}\n`)
  return { path, size: bytes.length, open: async () => Readable.from([bytes]) }
}

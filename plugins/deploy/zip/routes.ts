import { join } from 'node:path'
import multipart, { type MultipartFields } from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { Spool, throwCut, UploadCut } from '../../../core/data/spool.ts'
import { InvalidRequest, isPlatformError, PayloadTooLarge } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { abortOnDisconnect } from '../../../core/http/connections.ts'
import { drainBody } from '../../../core/http/drain-body.ts'
import type { Routes } from '../../../core/http/routes.ts'
import type { ArchiveLimits, DeployLimits } from '../schemas.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import { IgnoreRules } from './ignore-rules.ts'
import { publishArchive, publishPage } from './publish.ts'

const Params = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const LONGEST_MESSAGE = 500
const LONGEST_PATH = 512
/** The overhead of multipart. */
const ENVELOPE_BYTES = 64 * 1024
/** The archives of one player in a minute. One of 20,000 small files takes some seconds of the processor. */
const ARCHIVES_PER_MINUTE = 12

/** The target of the archive form on a game's deploy page. */
export const zipRoutes =
  (limits: DeployLimits & ArchiveLimits): Routes =>
  async (app) => {
    const spool = new Spool(join(app.config.dataDir, 'archives'))
    await spool.prepare()
    const ignoreRules = new IgnoreRules(app.workerPrograms)
    app.addHook('onClose', () => ignoreRules.close())
    const turns = new ConcurrencyLimit({ most: limits.archivesAtOnce, mostEach: limits.archivesAtOncePerPlayer })
    await app.register(multipart, {
      limits: { fileSize: limits.deployBytes, files: 1, fields: 2, fieldSize: 4 * LONGEST_PATH, parts: 3 },
    })
    const upload = { maxBytes: limits.deployBytes + ENVELOPE_BYTES }

    /** Ownership is checked before any byte of the archive is read. */
    const mustMake = async (request: FastifyRequest) => {
      await app.games.mustMake(callerOf(request).playerId, (request.params as { slug: string }).slug)
    }

    const publish = async (request: FastifyRequest, slug: string, gone: AbortSignal) => {
      const { playerId } = callerOf(request)
      const game = await app.games.mustMake(playerId, slug)
      const part = await request.file().catch((error) => {
        throw new InvalidRequest('The form did not arrive completely.').with({ cause: error })
      })
      if (!part) throw new InvalidRequest('Choose a zip archive, or an HTML file.')
      // A page shows the refused form with what was entered.
      request.body = { message: textIn(part.fields.message), room: textIn(part.fields.room) }
      request.raw.once('close', () => {
        if (!request.raw.complete) part.file.destroy(new UploadCut())
      })
      const file = await spool.take(part.file).catch(throwCut)
      let endTurn: (() => void) | undefined
      try {
        // The stream ends at the limit like a complete file.
        if (part.file.truncated) throw new PayloadTooLarge(`An archive has at most ${formatBytes(limits.deployBytes)}.`)
        const message = textIn(part.fields.message).slice(0, LONGEST_MESSAGE)
        const room = textIn(part.fields.room).slice(0, LONGEST_PATH)
        endTurn = await turns.take(playerId, gone)
        const upload = { playerId, gameId: game.id, file, message, ...(room ? { room } : {}) }
        if (/\.html?$/i.test(part.filename)) return await publishPage(app, upload, part.filename)
        return await publishArchive({ deploys: app.deploys, ignoreRules }, limits, upload)
      } finally {
        endTurn?.()
        await spool.remove(file)
      }
    }

    app.post(
      '/games/:slug/deploys',
      {
        config: { auth: 'session', page: true, upload: { ...upload, longPerMinute: ARCHIVES_PER_MINUTE } },
        constraints: { origin: 'portal' },
        onRequest: mustMake,
        schema: { params: Params, hide: true },
      },
      async (request, reply: FastifyReply) => {
        const { slug } = request.params as { slug: string }
        const gone = abortOnDisconnect(reply)
        try {
          const { skipped, folder, replaced } = await publish(request, slug, gone)
          const further = `${folder ? '&unwrapped' : ''}${replaced ? `&replaced=${replaced}` : ''}`
          return reply.redirect(`/games/${slug}/deploys?published=${skipped}${further}`, 303)
        } catch (error) {
          if (!isPlatformError(error) || error.statusCode === 404) throw error
          await drainBody(request.raw)
          throw error
        }
      },
    )
  }

/** Returns the text of a field before the file; empty when there is none. */
const textIn = (field: MultipartFields[string]): string =>
  field && !Array.isArray(field) && field.type === 'field' ? String(field.value).trim() : ''

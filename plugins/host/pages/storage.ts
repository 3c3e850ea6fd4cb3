import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordAction } from '../../../core/data/audit.ts'
import { BackupError } from '../../../core/data/backups/archive.ts'
import { writeBackup } from '../../../core/data/backups/backup.ts'
import { BackupUnsupported } from '../../../core/data/database.ts'
import { Spool } from '../../../core/data/spool.ts'
import { actorOf, adminPage, callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  Card,
  CodeBlock,
  formatBytes,
  html,
  Notice,
  PageHeader,
  Section,
  Stats,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { page } from '../page.ts'
import type { BlobUse, Counted } from '../storage-usage.ts'

/** /admin/storage: the stored data, and the backup. */
export const storagePages: Routes = async (app) => {
  const copies = new Spool(join(app.config.dataDir, 'copies'))
  await copies.prepare()

  app.get('/admin/storage', adminPage, async (request, reply) => show(request, reply))

  app.post('/admin/storage/count', adminPage, async (request, reply) => {
    await note(request, 'storage.count')
    await app.storageUse.count()
    return reply.redirect('/admin/storage', 303)
  })

  // The file has all data, and the keys of the server.
  const recently = app.identity.recentSignIn('/admin/storage')
  app.post('/admin/backup', { ...adminPage, preHandler: recently }, async (request, reply) => {
    const { config, db, storage, clock } = app
    const file = copies.reserve()
    const forget = () => copies.remove(file)
    try {
      await writeBackup({ driver: db, storage, dataDir: config.dataDir, config }, file)
      const { size } = await stat(file)
      await note(request, 'backup.take')
      request.log.info({ bytes: size, by: callerOf(request).playerId }, 'an administrator took a backup')
      const content = createReadStream(file)
      content.once('close', forget)
      const name = `gameyard-${clock.now().toISOString().slice(0, 16).replace(/[T:]/g, '-')}.tar`
      return reply
        .header('cache-control', 'no-store')
        .header('content-disposition', `attachment; filename="${name}"`)
        .header('content-length', size)
        .type('application/x-tar')
        .send(content)
    } catch (error) {
      await forget()
      if (!(error instanceof BackupUnsupported || error instanceof BackupError)) throw error
      return show(request, reply, error.message)
    }
  })

  /** Audits actions that change nothing in the database. */
  const note = (request: FastifyRequest, action: string) =>
    app.db.transaction((em) =>
      recordAction(em, app.clock, { by: actorOf(request), action, target: { kind: 'server', id: '' } }),
    )

  async function show(request: FastifyRequest, reply: FastifyReply, problem?: string) {
    const [database, disk] = await Promise.all([app.storageUse.databaseBytes(), app.storageUse.disk()])
    const counted = app.storageUse.lastCount
    const stats = [
      { label: counted ? 'in blobs' : 'in blobs: not counted yet', value: counted ? formatBytes(counted.bytes) : '–' },
      { label: 'in the database', value: formatBytes(database) },
      ...(disk ? [{ label: `free of ${formatBytes(disk.size)}`, value: formatBytes(disk.free) }] : []),
    ]
    return page(request, reply, {
      title: 'Storage of this server',
      status: problem ? 409 : 200,
      body: html`
        <${PageHeader} title="Storage" lede="All data is in the data folder, or in the storage of the configuration." />
        <div class="stack"><${Stats} items=${stats} /></div>
        <${Section} layout="side" title="Backup" id="backup" description="Database, files and keys of this moment, in one file. The server keeps running.">
          <${Card}>
            ${problem && html`<${Notice} tone="error" title="There is no backup to download">${problem}<//>`}
            ${
              app.db.dialect === 'sqlite'
                ? html`<form class="row" action="/admin/backup" method="post"><${Button} kind="act">Download a backup<//></form>`
                : html`<p>On PostgreSQL only the command line makes a backup, on a machine that reaches the database.</p>`
            }
            <p class="soft">It contains all data and keys. Keep it where only you can read it. In a terminal, and to restore:</p>
            <${CodeBlock} title="Terminal" code=${'gameyard backup gameyard.tar\ngameyard restore gameyard.tar --data ./data'} />
          <//>
        <//>
        ${blobs(counted)}`,
    })
  }
}

const blobs = (counted: Counted | null): View => html`
  <${Section} layout="side" title="Blobs" id="blobs" description=${counted ? html`Counted <${Timestamp} at=${counted.at} />.` : 'A count reads the name of every blob, which takes a while where there are many.'}>
    ${counted && html`<${Table} caption="Blobs by kind" rows=${counted.kinds} columns=${COLUMNS} empty=${html`<p class="empty soft">Nothing is kept yet.</p>`} />`}
    <${Card}><form class="row" action="/admin/storage/count" method="post"><${Button}>${counted ? 'Count again' : 'Count now'}<//></form><//>
  <//>`

const number = new Intl.NumberFormat('en')
const COLUMNS = [
  { label: 'Kind', cell: ({ kind }: BlobUse) => html`<code>${kind}</code>` },
  { label: 'Blobs', align: 'end' as const, cell: (use: BlobUse) => number.format(use.blobs) },
  { label: 'Size', align: 'end' as const, cell: ({ bytes }: BlobUse) => formatBytes(bytes) },
]

import { defineEntity, p } from '@mikro-orm/core'

/** The draft of a game: what its editor has changed since a deploy. Every change holds this row until it commits. */
const DraftRowSchema = defineEntity({
  name: 'DraftRow',
  tableName: 'drafts',
  properties: {
    gameId: p.string().length(30).primary(),
    /** Names the preview, like the id of a deploy. */
    id: p.string().length(30).unique(),
    /** The deploy whose files the draft changes; null for a game without one. */
    baseDeployId: p.string().length(30).nullable(),
    /** Grows with every change. */
    revision: p.integer(),
    /** The path of the room script, where it differs from that of the base; the empty text for none. */
    room: p.string().length(512).nullable(),
    updatedAt: p.datetime(3),
    updatedBy: p.string().length(30),
  },
})

export class DraftRow extends DraftRowSchema.class {}
DraftRowSchema.setClass(DraftRow)

/** A file that a draft adds, changes or removes. Its content is a blob of the deploys' storage. */
const DraftFileSchema = defineEntity({
  name: 'DraftFile',
  tableName: 'draft_files',
  properties: {
    gameId: p.string().length(30).primary(),
    path: p.string().length(512).primary(),
    /** The revision of the draft in which the file was last changed. */
    revision: p.integer(),
    /** null for a file of the base that the draft removes. */
    sha256: p.string().length(64).nullable().index(),
    /** In bytes. */
    size: p.bigint('number'),
    updatedAt: p.datetime(3),
    updatedBy: p.string().length(30),
  },
})

export class DraftFile extends DraftFileSchema.class {}
DraftFileSchema.setClass(DraftFile)

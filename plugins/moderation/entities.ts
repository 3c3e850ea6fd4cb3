import { defineEntity, p } from '@mikro-orm/core'
import type { Category, ReportState, TargetKind } from './schemas.ts'

const ReportSchema = defineEntity({
  name: 'ReportRow',
  tableName: 'reports',
  properties: {
    id: p.string().length(30).primary(),
    targetKind: p.string().$type<TargetKind>().length(10),
    targetId: p.string().length(30),
    /** The owner of the target, also after a game got another one; of a player the player. */
    ownerId: p.string().length(30).nullable().index(),
    /** Null for visitors without an account, and for deleted accounts. */
    reporterId: p.string().length(30).nullable(),
    /** The player id, or a keyed hash of the visitor's address. Empty for deleted accounts. */
    reporterKey: p.string().length(60).index(),
    /** Reporter and target while the report is open, so that there is one at most; null afterwards. */
    openKey: p.string().length(100).nullable().unique(),
    category: p.string().$type<Category>().length(12),
    text: p.text(),
    state: p.string().$type<ReportState>().length(10),
    /** The decision that closed it. */
    decisionId: p.string().length(30).nullable().index(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    decidedAt: p.datetime(3).nullable().index(),
  },
  indexes: [{ properties: ['state', 'targetId'] }, { properties: ['targetId'] }],
})

/** One report of one reporter about one target. */
export class ReportRow extends ReportSchema.class {}
ReportSchema.setClass(ReportRow)

const DecisionSchema = defineEntity({
  name: 'ReportDecision',
  tableName: 'report_decisions',
  properties: {
    id: p.string().length(30).primary(),
    targetKind: p.string().$type<TargetKind>().length(10),
    targetId: p.string().length(30).index(),
    ownerId: p.string().length(30).nullable().index(),
    action: p.string().$type<'dismiss' | 'suspend' | 'disable' | 'write'>().length(10),
    /** Whether the target or its owner changed. They do not when they were suspended or disabled before. */
    changed: p.boolean(),
    /** The text for the owner. */
    message: p.text().nullable(),
    actorId: p.string().length(100),
    /** The number of reports that it closed. */
    reports: p.integer(),
    at: p.datetime(3).index(),
    /** When owner and reporters were told. */
    toldAt: p.datetime(3).nullable(),
    undoneAt: p.datetime(3).nullable(),
  },
})

/** A decision of the staff about a target. */
export class ReportDecision extends DecisionSchema.class {}
DecisionSchema.setClass(ReportDecision)

const MessageSchema = defineEntity({
  name: 'StaffMessage',
  tableName: 'staff_messages',
  properties: {
    id: p.string().length(30).primary(),
    playerId: p.string().length(30).index(),
    subject: p.string().length(200),
    text: p.text(),
    at: p.datetime(3).index(),
  },
})

/** A message of the staff to a player, shown in the settings. */
export class StaffMessage extends MessageSchema.class {}
MessageSchema.setClass(StaffMessage)

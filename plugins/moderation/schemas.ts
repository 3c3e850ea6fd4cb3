import Type, { type Static } from 'typebox'
import { Section } from '../../core/config.ts'
import { pageOf } from '../../core/http/pagination.ts'

export const ModerationConfig = Section(
  {
    digest: Type.Boolean({
      default: true,
      description: 'Whether moderators and administrators get a mail each day on which reports are open.',
    }),
    keepDays: Type.Integer({
      default: 180,
      minimum: 1,
      description: 'Days that a closed report and a message of the staff are kept.',
    }),
  },
  { description: 'Reports and their queue.', default: {} },
)
export type ModerationConfig = Static<typeof ModerationConfig>

export const moderationLimits = {
  reportsPerHour: Type.Integer({
    default: 10,
    minimum: 1,
    description: 'Reports an hour of one player, or of one address without an account.',
  }),
}

/** The maximum lengths in characters. */
export const TEXT_LENGTH = 2000
export const MESSAGE_LENGTH = 1000

const oneOf = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], description })

export const TARGET_KINDS = ['game', 'asset', 'player'] as const
export type TargetKind = (typeof TARGET_KINDS)[number]
const Kind = oneOf(TARGET_KINDS, 'What is reported.')

export const CATEGORIES = ['harm', 'malware', 'sexual', 'hate', 'copyright', 'spam', 'other'] as const
export type Category = (typeof CATEGORIES)[number]
const CategoryName = oneOf(
  CATEGORIES,
  'harm: violence, threats, danger to children. malware: harmful software, theft of passwords. sexual, hate, copyright, spam, other.',
)

export type ReportState = 'open' | 'upheld' | 'dismissed'

const Id = Type.String({ maxLength: 63 })
const Time = Type.String({ format: 'date-time' })
const Target = Type.Object({ kind: Kind, id: Type.String() })

export const NewReport = Type.Object({
  target: Type.Object({ kind: Kind, id: Id }, { additionalProperties: false }),
  category: CategoryName,
  text: Type.String({ maxLength: TEXT_LENGTH, description: 'What is wrong, and where.' }),
})

export const Report = Type.Object({
  id: Type.String(),
  target: Target,
  category: CategoryName,
  text: Type.String(),
  state: oneOf(['open', 'upheld', 'dismissed'], 'upheld: the staff acted on it.'),
  createdAt: Time,
  updatedAt: Time,
})
export type Report = Static<typeof Report>

/** A target with open reports. */
export const ReportedTarget = Type.Object(
  {
    target: Target,
    title: Type.String(),
    ownerId: Type.Union([Type.String(), Type.Null()]),
    urgent: Type.Boolean({ description: 'Whether a report is about harm or malware.' }),
    reports: Type.Integer({ description: 'Open reports.' }),
    categories: Type.Array(CategoryName, { description: 'Most frequent first.' }),
    firstAt: Time,
    page: Type.String({ description: 'Its place in the queue.' }),
  },
  { title: 'ReportedTarget' },
)
export type ReportedTarget = Static<typeof ReportedTarget>
export const ReportedTargets = pageOf('targets', ReportedTarget)

export const ACTIONS = ['dismiss', 'suspend', 'disable', 'write'] as const
export type DecisionAction = (typeof ACTIONS)[number]
export const ActionName = oneOf(
  ACTIONS,
  'suspend: the game or asset. disable: the owner. write: a message to the owner; the reports stay open.',
)

export const NewDecision = Type.Object({
  action: ActionName,
  message: Type.Optional(
    Type.String({ maxLength: MESSAGE_LENGTH, description: 'What the owner reads; needed to suspend and to write.' }),
  ),
})

export const Decision = Type.Object({
  id: Type.String(),
  target: Target,
  action: ActionName,
  changed: Type.Boolean({ description: 'false when it was suspended or disabled before.' }),
  reports: Type.Integer({ description: 'The reports that it closed, or reopened.' }),
})
export type Decision = Static<typeof Decision>

export const TargetParams = Type.Object({ id: Type.String({ maxLength: 30 }) })
export const UndoBody = Type.Object({ decisionId: Type.String({ maxLength: 30 }) })

import type { FastifyInstance } from 'fastify'
import { Decisions } from './reports/decisions.ts'
import { StaffMessages } from './reports/messages.ts'
import { Outcomes } from './reports/outcomes.ts'
import { Queue } from './reports/queue.ts'
import { Reports } from './reports/reports.ts'
import { Targets } from './reports/targets.ts'

/** Reports, their queue, and the decisions of the staff: the single service of this plugin. */
export class Moderation {
  readonly targets: Targets
  readonly reports: Reports
  readonly queue: Queue
  readonly decisions: Decisions
  readonly messages: StaffMessages
  readonly outcomes: Outcomes

  constructor(app: FastifyInstance, { reportsPerHour }: { reportsPerHour: number }) {
    const { db, clock, jobs, rateLimiter, keys, site } = app
    this.targets = new Targets(app)
    const { targets } = this
    this.reports = new Reports({ db, clock, rateLimiter, keys, targets, reportsPerHour })
    this.queue = new Queue({ db, targets })
    this.decisions = new Decisions({ db, clock, jobs, targets, administration: app.identity.administration })
    this.messages = new StaffMessages(app)
    this.outcomes = new Outcomes({ db, clock, identity: app.identity, site, targets, messages: this.messages })
  }
}

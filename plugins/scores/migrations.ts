import type { Migration } from '../../core/data/migrations.ts'
import { migration as scores } from './migrations/2026_11_23_scores.ts'
import { migration as playerBoards } from './migrations/2026_11_26_player_boards.ts'
import { migration as submissions } from './migrations/2026_11_26_score_submissions.ts'

/** The migrations in the order in which they run. */
export const migrations: Migration[] = [scores, playerBoards, submissions]

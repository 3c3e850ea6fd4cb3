import type { FastifyInstance } from 'fastify'
import type { ScriptBackends } from './services.ts'

/** Scores and saves for room scripts, by the services of their plugins. */
export const scriptBackends = ({ saves, scores }: Pick<FastifyInstance, 'saves' | 'scores'>): ScriptBackends => ({
  submitScore: (score) => scores.submitFromRoom(score),
  readSave: ({ key, ...owner }) => saves.rooms.get(owner, key),
  writeSave: ({ key, value, ...owner }) => saves.rooms.set(owner, key, value),
})

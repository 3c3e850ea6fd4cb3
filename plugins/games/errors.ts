import { defineError } from '../../core/errors.ts'

export const SlugTaken = defineError('slug_taken', 409, 'No free address could be made from this title; change it.')

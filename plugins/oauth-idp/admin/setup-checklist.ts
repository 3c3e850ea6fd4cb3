import type { FastifyInstance } from 'fastify'
import type { SetupStep } from '../../../core/observe/host-dashboard.ts'

/** The set-up steps that concern players, for the administrator of a new server. */
export const setupChecklist = ({ identity }: FastifyInstance): SetupStep[] => [
  {
    title: 'Create your account',
    text: 'Done: you are signed in.',
    order: 10,
    action: { href: '/settings', label: 'Settings' },
    done: async () => true,
  },
  {
    title: 'Let somebody in',
    text:
      identity.config.signUp === 'open'
        ? 'Sign-up is open: send people the address of this site. An invitation works too.'
        : 'Send somebody an invitation: a link by which one account can be made.',
    order: 20,
    action:
      identity.config.signUp === 'closed'
        ? { href: '/admin/players', label: 'Players' }
        : { href: '/admin/invitations', label: 'Invite somebody' },
    done: async () => (await identity.administration.count()) > 1,
  },
]

/** Teams of games: invitations, testers. */
export default [
  {
    name: 'a visitor who opens the invitation of one player is not asked to sign in',
    in: 'plugins/games',
    find: "if (row.playerId && !playerId) throw new Unauthorized('Sign in first.')",
    replace: '',
    tests: ['plugins/games/members'],
  },
  {
    name: 'testers whom a node with an earlier version has removed stay',
    in: 'plugins/games',
    find: "withRole('tester').filter((id) => admitted.has(id))",
    replace: "withRole('tester')",
    tests: ['plugins/games/members'],
  },
  {
    name: 'a decision about a waiting game removes its testers',
    in: 'plugins/games',
    find: 'return testersAmong(em, id, invited)',
    replace: 'return invited.slice(0, 0)',
    tests: ['plugins/games/approvals'],
  },
  {
    name: 'a mistyped address of an invitation is said at no field',
    in: 'plugins/games',
    find: "throw fault ? invalidField('name', fault.message) : error",
    replace: "throw fault ? invalidField('email', fault.message) : error",
    tests: ['plugins/games/invite-by-mail'],
  },
]

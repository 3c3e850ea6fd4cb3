/** Mistakes in code that runs on users' machines. */
export default [
  {
    name: 'the adapter reads a planted cookie beside its own',
    in: 'clients/adapter',
    find: 'if (values.length !== 1 || !token) return { signedIn: false }',
    replace: 'if (!token) return { signedIn: false }',
    tests: ['clients/adapter'],
  },
  {
    name: 'the adapter returns to another site',
    in: 'clients/adapter',
    find: "if (!url || url.origin !== origin || url.pathname.startsWith('//')) return '/'",
    replace: "if (!url) return '/'",
    tests: ['clients/adapter'],
  },
  {
    name: 'the adapter believes any issuer',
    in: 'clients/adapter',
    find: 'if (issuer !== null && issuer !== baseUrl) throw',
    replace: "if (issuer === '') throw",
    tests: ['clients/adapter'],
  },
  {
    name: 'the adapter takes the state of another flow',
    in: 'clients/adapter',
    find: 'if (!flow || flow.state !== state) {',
    replace: 'if (!flow) {',
    tests: ['clients/adapter'],
  },
  {
    name: 'the SDK repeats what may be done once',
    in: 'clients/sdk',
    find: 'const repeatable = SAFE.has(method) || idempotent || request.repeatable === true',
    replace: 'const repeatable = true',
    tests: ['clients/sdk'],
  },
  {
    name: 'the SDK sends its token where none is wanted',
    in: 'clients/sdk',
    find: 'if (token && !request.anonymous) headers.set',
    replace: 'if (token) headers.set',
    tests: ['clients/sdk'],
  },
  {
    name: 'the command line publishes secrets',
    in: 'clients/cli',
    find: 'const NEVER = /^(?:\\.git|node_modules|\\.env.*)$/i',
    replace: 'const NEVER = /^(?:\\.git|node_modules)$/i',
    tests: ['clients/cli/build-folder'],
  },
  {
    name: 'the command line follows a link out of the build',
    in: 'clients/cli',
    find: 'else if (entry.isSymbolicLink() && !(await isInside(root, file)))',
    replace: 'else if (entry.isSymbolicLink() && !file)',
    tests: ['clients/cli/build-folder'],
  },
]

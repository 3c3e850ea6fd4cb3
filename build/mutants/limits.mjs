/** Mistakes in what bounds the work of requests. */
export default [
  {
    name: 'a body of a stranger may be as long as that of a player',
    in: 'core/http',
    find: 'if (isOpen(route)) route.bodyLimit = limits.open',
    replace: 'if (isOpen(route)) route.bodyLimit = limits.json',
    tests: ['core/http/limits/body-limits'],
  },
  {
    name: 'a form may have any number of fields',
    in: 'core/http',
    find: 'if (++pairs > MOST_PAIRS)',
    replace: 'if (++pairs > text.length + 1)',
    tests: ['core/http/limits/body-limits'],
  },
  {
    name: 'validation collects every error of a body',
    in: 'core/http',
    find: 'if(++errors>=',
    replace: 'if(++errors>=1000*',
    tests: ['core/http/validation'],
  },
  {
    name: 'a valid part of a union is refused for the errors of another',
    in: 'core/http',
    find: 'compiled ??= first.compile(schema)\n    const valid = compiled(data) as boolean',
    replace: 'compiled ??= first.compile(schema)\n    const valid = errorsOf(some.compile(schema), data, null) == null',
    tests: ['core/http/validation'],
  },
  {
    name: 'a connection is read on by the body of a pipelined request',
    in: 'core/http',
    find: "this.#socket.on('resume', this.#pause)",
    replace: "this.#socket.on('close', this.#pause)",
    tests: ['core/http/limits/pipelining'],
  },
  {
    name: 'all pipelined requests are handled in one turn',
    in: 'core/http',
    find: 'const next = this.#waiting.shift()\n    if (next && !this.#socket.destroyed) this.#listener(...next)',
    replace: 'for (const next of this.#waiting.splice(0)) this.#listener(...next)',
    tests: ['core/http/limits/pipelining'],
  },
  {
    name: 'password hashes take all threads',
    in: 'plugins/oauth-idp',
    find: 'new FairQueue({ atOnce: 2, perCaller: 64, waiting: 256 })',
    replace: 'new FairQueue({ atOnce: 64, perCaller: 64, waiting: 256 })',
    tests: ['plugins/oauth-idp/hashing-queue'],
  },
  {
    name: 'a caller with many hashes keeps the turn',
    in: 'plugins/oauth-idp',
    find: 'this.#waiting.delete(caller)\n    const task = tasks.shift()',
    replace: 'if (tasks.length === 1) this.#waiting.delete(caller)\n    const task = tasks.shift()',
    tests: ['plugins/oauth-idp/hashing-queue'],
  },
]

/** Mistakes in pages and their forms. */
export default [
  {
    name: 'a busy button is pressed again',
    in: 'core/pages',
    find: "if (!(event.target as Element).closest('button[aria-disabled=true]')) return",
    replace: 'return',
    tests: ['system/focus'],
  },
  {
    name: 'a form that another site sends comes back filled',
    in: 'core/http',
    find: 'return origin !== null && isFromPageOf(request.headers, origin)',
    replace: 'return origin !== null',
    tests: ['system/refused-forms'],
  },
  {
    name: 'a refused form loses what was entered',
    in: 'core/pages',
    find: 'entered: form.values ? (form.values.get(name) ?? []) : undefined',
    replace: 'entered: undefined',
    tests: ['system/refused-forms'],
  },
  {
    name: 'a form that is refused twice loses its page',
    in: 'core/pages',
    find: 'action: own ? withPage(action, own.page) : action',
    replace: 'action',
    tests: ['system/refused-forms'],
  },
]

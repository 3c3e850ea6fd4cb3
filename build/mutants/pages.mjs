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
  {
    name: 'the catalog shows games that do not state what is asked for',
    in: 'plugins/games',
    find: '...termsOfFilter(filter).map(keyOfFeature),',
    replace: '',
    tests: ['plugins/games/features'],
  },
  {
    name: 'the languages of a hidden game stay in the filter of the catalog',
    in: 'plugins/games',
    find: 'this.#languages.noteChange(gameId)',
    replace: '',
    tests: ['system/hidden-games'],
  },
  {
    name: 'a game with a cover is loaded before it is started',
    in: 'plugins/games',
    find: '} else if (place) open(place, {',
    replace: '}\nif (place) open(place, {',
    tests: ['plugins/games/cover'],
  },
]

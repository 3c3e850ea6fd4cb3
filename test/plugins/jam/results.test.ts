import t from 'tap'
import { placesOf, revealedOf, stepCount } from '../../../plugins/jam/results.ts'

const categories = [
  { id: 'fun', name: 'Fun' },
  { id: 'looks', name: 'Looks' },
]
const games = new Map(
  ['a', 'b', 'c', 'd', 'e'].map((id) => [
    id,
    { gameId: id, slug: id, title: id.toUpperCase(), coverUrl: null, playUrl: '', by: 'Ada' },
  ]),
)
const tally = (categoryId: string, votes: Record<string, number>) =>
  Object.entries(votes).map(([gameId, count]) => ({ categoryId, gameId, votes: count }))
const shortly = (places: { rank: number; games: { gameId: string }[] }[]) =>
  places.map(({ rank, games }) => `${rank}:${games.map(({ gameId }) => gameId).join('+')}`)

t.test('games with as many votes share a place, and the podium ends after the third', async (t) => {
  const [fun] = placesOf(categories, tally('fun', { a: 1, b: 5, c: 5, d: 2, e: 1 }), games)
  t.strictSame(shortly(fun?.places ?? []), ['1:b+c', '3:d'])
})

t.test('votes for a game that is gone count for nobody', async (t) => {
  const [fun] = placesOf(categories, tally('fun', { gone: 9, a: 1 }), games)
  t.strictSame(shortly(fun?.places ?? []), ['1:a'])
})

t.test('steps go through one category after the other, from the last place to the first', async (t) => {
  const ranked = placesOf(categories, [...tally('fun', { a: 3, b: 2, c: 1 }), ...tally('looks', { d: 1 })], games)
  t.equal(stepCount(ranked), 4)
  const shown = [0, 1, 2, 3, 4].map((steps) =>
    revealedOf(ranked, steps).map(({ places, complete }) =>
      [...shortly(places), ...(complete ? ['all'] : [])].join(' '),
    ),
  )
  t.strictSame(shown, [
    ['', ''],
    ['3:c', ''],
    ['2:b 3:c', ''],
    ['1:a 2:b 3:c all', ''],
    ['1:a 2:b 3:c all', '1:d all'],
  ])
})

t.test('a category without votes takes a step, and says so', async (t) => {
  const ranked = placesOf(categories, tally('looks', { a: 1 }), games)
  t.equal(stepCount(ranked), 2)
  t.match(revealedOf(ranked, 1), [
    { id: 'fun', places: [], complete: true },
    { id: 'looks', places: [], complete: false },
  ])
})

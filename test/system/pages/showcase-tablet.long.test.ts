// Every page of a platform in use, for every viewer, within its budgets, in any language, on a tablet.
import t from 'tap'
import { VIEWS } from '../../kit/portal-pages.ts'
import { checkShowcase } from '../../kit/showcase-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.setTimeout(timeLimit(1800))

t.test('every page is sound: axe-core, one title, no overflow, no shift, little script, nothing from elsewhere', (t) =>
  checkShowcase(t, VIEWS.tablet),
)

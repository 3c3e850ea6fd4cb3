// Every page of a platform in use, for every viewer, within its budgets, in any language, on a tablet.
import t from 'tap'
import { VIEWS } from '../../kit/portal-pages.ts'
import { checkShowcase } from '../../kit/showcase-pages.ts'

t.setTimeout(1_800_000)

t.test('every page is sound: axe-core, one title, no overflow, no shift, little script, nothing from elsewhere', (t) =>
  checkShowcase(t, VIEWS.tablet),
)

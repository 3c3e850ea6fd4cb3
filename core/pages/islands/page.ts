/** The small script of every page: each part improves something that already works, or shows what needs a script. */

import { enableCopyButtons } from './copy-buttons.ts'
import { enableDismissal } from './dismiss.ts'
import { enableKeyboardShortcuts } from './keyboard-shortcuts.ts'
import { followEvents } from './live-parts.ts'
import { localizeTimes } from './local-times.ts'
import { closeMenus } from './menu.ts'
import { submitOptimistically } from './optimistic-forms.ts'
import { scrollToCurrent } from './scroll-to-current.ts'
import { enableThemeSwitch } from './theme.ts'

enableCopyButtons()
enableDismissal()
closeMenus()
enableThemeSwitch()
enableKeyboardShortcuts()
scrollToCurrent()
localizeTimes()
followEvents()
submitOptimistically()

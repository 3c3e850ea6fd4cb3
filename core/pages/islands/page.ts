/**
 * The script of every page. Each part improves something that works without it, or shows an element that needs a
 * script.
 */

import { ignoreBusyButtons } from './busy-button.ts'
import { enableCopyButtons } from './copy-buttons.ts'
import { enableDismissal } from './dismiss.ts'
import { focusResult } from './focus-result.ts'
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
ignoreBusyButtons()
focusResult()

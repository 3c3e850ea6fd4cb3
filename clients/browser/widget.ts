/**
 * Served by the portal as `/widget.js`, a classic script:
 *
 *   <script src="https://yard.example/widget.js"></script>
 *   <script>serviceWidget.mount('#sign-in', { clientId, redirectUri, gameName })</script>
 */
import type { Mounted } from './player/mount-player.ts'
import { mountWidget, type WidgetOptions } from './widget/sign-in.ts'

declare global {
  var serviceWidget: { mount(selector: string | HTMLElement, options: WidgetOptions): Promise<Mounted> }
}

/** The portal's origin is the origin of this script. */
const portal = new URL((document.currentScript as HTMLScriptElement).src).origin

globalThis.serviceWidget = { mount: (selector, options) => mountWidget(selector, portal, options) }

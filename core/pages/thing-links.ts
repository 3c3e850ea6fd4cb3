import { html, type View } from './html.ts'
import type { Site, ThingKind } from './shell.ts'

/** The contributed links of a thing's page, in one muted line; nothing without any. */
export const ThingLinks = ({ site, kind, id }: { site: Site; kind: ThingKind; id: string }): View | null =>
  site.thingLinks.length === 0
    ? null
    : html`<p class="note">${site.thingLinks.map(({ label, href }) => html`<a href=${href(kind, id)} rel="nofollow">${label}</a>`)}</p>`

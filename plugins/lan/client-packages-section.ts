import { CLIENT_PACKAGES, clientPackageFile } from '../../core/data/client-packages.ts'
import { CodeBlock, html, Section, type View } from '../../core/pages/index.ts'

const FOR: Record<(typeof CLIENT_PACKAGES)[number], { what: string; guide: string }> = {
  adapter: { what: 'Sign-in for a game with a server of its own', guide: 'adapter' },
  browser: { what: 'The browser scripts, for a bundler', guide: 'sign-in' },
  engines: { what: 'Scripts for Unity, Godot, Rust and C', guide: 'engines' },
  room: { what: 'Types for room scripts', guide: 'room-scripts' },
  sdk: { what: 'The HTTP API as typed functions', guide: 'sdk' },
}

/** Lists the packages that the platform offers, with the command that installs each. */
export const ClientPackagesSection = ({ portal }: { portal: string }): View => html`
  <${Section} title="Packages for games" id="packages" description="npm installs them from this platform. After an update of the platform run the same command again.">
    ${CLIENT_PACKAGES.map(
      (name) => html`
        <${CodeBlock} title=${`@gameyard/${name}`} code=${`npm install ${portal}/download/${clientPackageFile(name)}`} />
        <p>${FOR[name].what}. <a href=${`/docs/${FOR[name].guide}`}>Guide</a></p>`,
    )}
  <//>`

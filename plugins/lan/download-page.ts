import {
  Button,
  Card,
  CodeBlock,
  CopyValue,
  DescriptionList,
  EmptyState,
  html,
  PageHeader,
  Section,
  Steps,
  type View,
} from '../../core/pages/index.ts'
import type { Download } from './download.ts'

/** Offers the running program as a download. */
export const DownloadPage = ({ download, portal }: { download: Download; portal: string }): View => {
  const { name, version, system, size, sha256 } = download
  const windows = name.endsWith('.exe')
  const run = windows ? '.\\gameyard.exe' : './gameyard'
  return html`
    <${PageHeader} title="Get the program" lede=${`The same program that runs here, for ${system}. It publishes your games, and can serve a platform of your own.`}
      actions=${html`<${Button} kind="act" href=${`/download/${name}`}>Download for ${system.split(',')[0]}<//>`} />
    <${Card}><${DescriptionList} items=${[
      { term: 'Version', detail: version },
      { term: 'For', detail: system },
      { term: 'Size', detail: `${Math.round(size / 1024 ** 2)} MiB` },
      { term: 'SHA-256', detail: html`<${CopyValue} value=${sha256} label="SHA-256" />` },
    ]} /><//>
    <${Section} title="Then" id="then"><${Steps} items=${[
      {
        title: windows ? 'Open a terminal where it is' : 'Make it a program, and see that it is whole',
        body: windows
          ? html`<${CodeBlock} title="PowerShell" code=${`curl.exe -O ${portal}/download/${name}\n(Get-FileHash .\\gameyard.exe).Hash.ToLower() -eq "${sha256}"`} />`
          : html`<${CodeBlock} title="Terminal" code=${`curl -O ${portal}/download/gameyard\ncurl -s ${portal}/download/gameyard.sha256 | sha256sum -c\nchmod +x gameyard`} />`,
      },
      {
        title: 'Publish the folder of your game, here called game',
        body: html`<${CodeBlock} title="Terminal" code=${`${run} login --url ${portal}\n${run} deploy game --create`} />`,
      },
    ]} /><//>`
}

/** The page if the program is not a single file. */
export const NoDownloadPage = (): View => html`
  <${PageHeader} title="Get the program" />
  <${Card}><${EmptyState} title="Nothing to download here" action=${{ href: '/games/new', label: 'Publish from the browser' }}>
    <p>This platform runs from its source code, so there is no single program to download. Its host can build one with <code>npm run build:binary</code>. You can also publish games from the browser.</p>
  <//><//>`

import type { LocalAuthority } from '../../core/origins/local-authority.ts'
import {
  Button,
  Card,
  CodeBlock,
  DescriptionList,
  EmptyState,
  html,
  PageHeader,
  Section,
  Steps,
  Timestamp,
  type View,
} from '../../core/pages/index.ts'

export const CERTIFICATE_FILE = '/join/certificate/gameyard-lan.crt'

interface CertificateProps {
  authority: LocalAuthority
  /** The origin of the portal on HTTPS. */
  portal: string
  /** The origin on plain HTTP, where the file is available before it is trusted. */
  plain: string
}

/** Explains how to trust the platform's own certificate authority, on each kind of device. */
export const CertificatePage = ({ authority, portal, plain }: CertificateProps): View => {
  const { name, fingerprint, expiresAt } = authority
  const file = CERTIFICATE_FILE
  return html`
    <${PageHeader} title="Trust this network's certificate" crumbs=${[{ label: 'Join', href: '/join' }]}
      lede="This network uses a certificate that was made on this machine. Your device must trust it once. It is valid for this local network only, not for the internet."
      actions=${html`<${Button} kind="act" href=${file}>Get the certificate<//><${Button} href=${`${portal}/`}>I have it: go on<//>`} />
    <div class="grid wide-grid">
      ${devices(name, plain + file, new URL(portal).host).map(({ title, steps }) => html`<${Section} title=${title}><${Steps} items=${steps} /><//>`)}
    </div>
    <${Section} title="Fingerprint" id="what" description="The host of this network can read the same fingerprint to you from their screen.">
      <${Card}><${DescriptionList} items=${[
        { term: 'Name', detail: name },
        { term: 'SHA-256', detail: html`<code>${fingerprint}</code>` },
        {
          term: 'Vouches for',
          detail: 'Addresses of local networks (10.x, 172.16–31.x, 192.168.x), and names that end in .local',
        },
        { term: 'Until', detail: html`<${Timestamp} at=${expiresAt} />` },
        { term: 'Afterwards', detail: `When the jam is over, remove “${name}” where you installed it.` },
      ]} /><//>
    <//>`
}

/** The instructions use the words of each system. */
const devices = (name: string, url: string, host: string) => [
  {
    title: 'iPhone and iPad',
    steps: [
      { title: 'Get it', body: 'In Safari, press “Get the certificate” above and allow the profile to be downloaded.' },
      { title: 'Install it', body: html`Settings → <strong>Profile Downloaded</strong> → Install, with your code.` },
      {
        title: 'Switch it on',
        body: html`Settings → General → About → <strong>Certificate Trust Settings</strong>: switch on “${name}”.`,
      },
    ],
  },
  {
    title: 'Android',
    steps: [
      { title: 'Get it', body: 'Press “Get the certificate” above; it is in Downloads.' },
      {
        title: 'Install it',
        body: html`Settings, search for <strong>CA certificate</strong> (Security → More → Install from storage) → Install anyway → choose the file.`,
      },
      {
        title: 'In Firefox',
        body: html`Also: Settings → About Firefox, press the logo five times, then Secret Settings → <strong>Use third party CA certificates</strong>.`,
      },
    ],
  },
  {
    title: 'Windows',
    steps: [
      { title: 'Get it', body: 'Press “Get the certificate” above and open the file.' },
      {
        title: 'Install it',
        body: html`Install Certificate → Current User → “Place all certificates in the following store” → <strong>Trusted Root Certification Authorities</strong>.`,
      },
      { title: 'Restart the browser', body: 'Edge, Chrome and Firefox know it then.' },
    ],
  },
  {
    title: 'macOS',
    steps: [
      {
        title: 'Get it',
        body: 'Press “Get the certificate” above and open the file: Keychain Access asks for the login keychain.',
      },
      {
        title: 'Trust it',
        body: html`Open “${name}” there → Trust → <strong>When using this certificate: Always Trust</strong>.`,
      },
    ],
  },
  {
    title: 'Linux',
    steps: [
      {
        title: 'For the system',
        body: html`Debian and Ubuntu; elsewhere see <code>trust anchor</code>.
          <${CodeBlock} title="Terminal" code=${`curl -o gameyard-lan.crt ${url}\nsudo cp gameyard-lan.crt /usr/local/share/ca-certificates/\nsudo update-ca-certificates`} />`,
      },
      {
        title: 'For Chrome and Firefox',
        body: html`Chrome: Settings → Privacy and security → Security → Manage certificates. Firefox: Settings → Privacy → View Certificates → Authorities → <strong>Import</strong>.`,
      },
    ],
  },
  {
    title: 'The command line',
    steps: [
      {
        title: 'Name the file',
        body: html`<${CodeBlock} title="Terminal" code=${`curl -o gameyard-lan.crt ${url}\nexport NODE_EXTRA_CA_CERTS=$PWD/gameyard-lan.crt\ngameyard login --url https://${host}`} />`,
      },
    ],
  },
]

/** The page if no certificate is needed. */
export const NoCertificatePage = ({ secure }: { secure: boolean }): View => html`
  <${PageHeader} title="No certificate needed" crumbs=${[{ label: 'Join', href: '/join' }]} />
  <${Card}><${EmptyState} title="You can go right in" action=${{ href: '/join', label: 'How to join' }}>
    <p>${secure ? 'Browsers trust this address already.' : html`This network uses plain http. Its host can start it with <code>--lan --https</code>.`}</p>
  <//><//>`

import { Button, CodeBlock, Field, Form, html, QrPicture, Section, Steps, type View } from '../../core/pages/index.ts'
import { ProofOfWork } from '../oauth-idp/index.ts'

export interface JoinProps {
  siteName: string
  /** The origin of the portal. */
  address: string
  /** The alternative name, if there is one: `gameyard.local:8080`. */
  alias: string | null
  qr: { width: number; path: string }
  signedIn: boolean
  guests: boolean
  /** Whether a guest needs a proof of work. */
  needsWork: boolean
  signUpIsOpen: boolean
  /** Whether devices must trust a certificate first. */
  certificate: boolean
}

/** Explains how to join: a poster for a projector at the top, and instructions below. */
export const JoinPage = (props: JoinProps): View => html`
  <${Poster} ...${props} />
  <div class="grid wide-grid">
    <${Section} title="To play" id="play"><${Steps} items=${playing(props)} /><//>
    <${Section} title="To make a game" id="make"><${Steps} items=${making(props)} /><//>
  </div>`

/** Shows the address as large as possible, and its QR code. */
const Poster = ({ siteName, address, alias, qr, certificate }: JoinProps): View => {
  const { protocol, host, hostname, port } = new URL(address)
  return html`
    <section class="poster">
      <div class="poster-head">
        <h1>Join ${siteName}</h1>
        <p class="poster-address"><a href=${`${address}/`} aria-label=${address}>
          <span class="poster-scheme">${protocol}//</span><span class="poster-host">${hostname}</span>${port && html`<span class="poster-port">:${port}</span>`}
        </a></p>
      </div>
      <div>
        <p class="poster-note">Be in the same network, then scan the code or type the address${alias && ', or this name'}.</p>
        ${alias && html`<p class="poster-alias">${alias}</p>`}
        ${certificate && html`<p class="poster-note">New here? Trust our <a href="/join/certificate">certificate</a> first; the code leads there.</p>`}
      </div>
      <${QrPicture} ...${qr} label=${`QR code of ${host}`} />
    </section>`
}

function playing({ guests, needsWork, signedIn, signUpIsOpen, alias, certificate }: JoinProps) {
  const steps = [
    {
      title: 'Join the network',
      body: 'The same Wi-Fi or cable as the machine that shows this. No internet is needed.',
    },
    {
      title: 'Open the address',
      body: html`Scan the code with your camera, or type the address${alias && html` or <code>${alias}</code>`} into any browser.`,
    },
    signedIn
      ? { title: 'Play', body: html`You are in. <${Button} small href="/catalog">See the games<//>` }
      : guests
        ? {
            title: 'Say who you are',
            body: html`<${Form} action="/guest" submit="Play as a guest">
              <input type="hidden" name="returnTo" value="/" />
              <${Field} label="Name" name="name" id="join-name" required maxlength=${60} autocomplete="nickname" />
              ${needsWork && html`<${ProofOfWork} />`}
            <//>`,
          }
        : {
            title: 'Sign in',
            body: html`<${Button} kind="act" href="/sign-in">Sign in<//>${signUpIsOpen && html` or <a href="/sign-up">make an account</a>`}`,
          },
  ]
  if (certificate) {
    const trust = html`Your device does not know this network's own certificate yet. <a href="/join/certificate">Teach it in a minute</a>.`
    steps.splice(1, 0, { title: 'Trust the certificate, once', body: trust })
  }
  return steps
}

function making({ address, signedIn, signUpIsOpen }: JoinProps) {
  return [
    signedIn || !signUpIsOpen
      ? {
          title: 'Sign in',
          body: signedIn ? 'Done: you are in.' : 'With the account that the host made for you.',
        }
      : {
          title: 'Create an account',
          body: html`<a href="/sign-up">Sign up</a> with any email address; nothing is sent to it.`,
        },
    {
      title: 'Publish from the browser',
      body: html`Zip a folder with an <code>index.html</code> in it and <a href="/games/new">upload it</a>.`,
    },
    {
      title: 'Or from a terminal',
      body: html`Get <a href="/download">the program</a>, then publish the folder of your game, here <code>game</code>:
        <${CodeBlock} title="Terminal" code=${`gameyard login --url ${address}\ngameyard deploy game --create`} />`,
    },
  ]
}

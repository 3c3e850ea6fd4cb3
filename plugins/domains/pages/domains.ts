import type { FastifyInstance } from 'fastify'
import {
  Button,
  Card,
  Chip,
  Confirm,
  CopyValue,
  DescriptionList,
  Field,
  Form,
  html,
  Notice,
  Section,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../../games/index.ts'
import { gameNameOf } from '../record.ts'
import type { Domain } from '../schemas.ts'

export interface DomainsPageProps {
  game: Game
  domains: Domain[]
  /** The text as entered, if it was refused. */
  typed?: string | undefined
  problem?: string | undefined
  /** The domain of the error; absent for the entered one. */
  about?: string | undefined
}

type App = Pick<FastifyInstance, 'games' | 'origins'>

/** Renders the domains of a game: a form to add one, then each domain with its open steps. */
export function domainsPage(app: App, { game, domains, typed, problem, about }: DomainsPageProps): View {
  const path = `/games/${game.slug}/settings/domains`
  return html`
    ${dashboardHeader(app, game, `/games/${game.slug}/settings`)}
    <${Section} layout="side" title="Add a domain" description="A domain name of your own needs two DNS records. One proves your ownership. The other leads players to the game.">
      <${Form} action=${path} submit="Add" inline>
        <${Field} label="Domain" name="name" value=${typed} required mono maxlength=${253} autocomplete="off" inputmode="url"
          hint="play.example.com" error=${about === undefined ? problem : undefined} />
      <//>
    <//>
    ${domains.map((domain) => domainSection(app, game, domain, about === domain.name ? problem : undefined))}`
}

const CHIPS = {
  pending: html`<${Chip} tone="warn">waits for its records<//>`,
  verified: html`<${Chip} live>live<//>`,
  failing: html`<${Chip} tone="error">proof is gone<//>`,
}

function domainSection(app: App, game: Game, domain: Domain, problem: string | undefined): View {
  const path = `/games/${game.slug}/settings/domains/change`
  const step = (word: string, label: string) => html`
    <${Form} action=${path}><input type="hidden" name="name" value=${domain.name} /><${Button} name="do" value=${word} label=${`${label}: ${domain.name}`}>${label}<//><//>`
  const served = domain.state !== 'pending'
  return html`
    <${Section} layout="side" id=${domain.name} title=${domain.name} description=${served ? html`<a href=${domain.url}>Open the game there</a>` : 'Add these records where the DNS of the domain is kept.'}
      action=${html`<span class="row">${CHIPS[domain.state]}${domain.primary && html`<${Chip}>main address<//>`}</span>`}>
      ${problem && html`<${Notice} tone="error">${problem}<//>`}
      ${findings(domain)}
      ${(domain.state !== 'verified' || domain.address !== 'here') && records(app, game, domain)}
      <div class="row">
        ${domain.state !== 'verified' && step('verify', 'Check now')}
        ${served && !domain.primary && step('primary', 'Make it the main address')}
        ${domain.primary && step('equal', 'Stop redirecting to it')}
        <${Confirm} label="Remove" name=${`Remove ${domain.name}`} action=${path} submit=${`Remove ${domain.name}`}>
          <p>${served ? `The game is no longer served at ${domain.name}; its other addresses stay.` : 'It is taken off this list.'} Saved games in browsers belong to an address and stay behind.</p>
          <input type="hidden" name="name" value=${domain.name} /><input type="hidden" name="do" value="remove" />
        <//>
      </div>
    <//>`
}

const PROOF = {
  missing: 'No TXT record was found there yet. New records take minutes, sometimes hours, to be seen everywhere.',
  wrong: 'There is a TXT record with another value. Compare it with the value below.',
  taken:
    'The proof is there, but the domain belongs to another game, whose proof is there as well. Remove that one first.',
  unreachable: "The domain's name servers gave no answer. Nothing changes until they do.",
}
const ADDRESS = {
  missing: 'The name has no address yet: add the second record.',
  elsewhere:
    'The name leads to another server. That is right only when a proxy of yours stands there and passes requests on.',
  unreachable: 'Where the name leads could not be looked up.',
}

/** Describes the result of the last check if a step is open. */
function findings({ state, proof, address, checkedAt, offAt }: Domain): View {
  const proofSays = proof && proof !== 'found' ? PROOF[proof] : null
  const addressSays = address && address !== 'here' && state !== 'pending' ? ADDRESS[address] : null
  return html`
    ${offAt && html`<${Notice} tone="warn">The TXT record is gone from the DNS. The domain works until <${Timestamp} at=${offAt} />; put the record back to keep it.<//>`}
    ${proofSays && !offAt && html`<${Notice}>${proofSays}<//>`}
    ${addressSays && html`<${Notice}>${addressSays}<//>`}
    <p class="soft">${checkedAt ? html`The platform checks again automatically; last check: <${Timestamp} at=${checkedAt} />` : 'Not looked up yet.'}</p>`
}

function records({ origins }: App, game: Game, { records: list }: Domain): View {
  return html`
    ${list.map(
      ({ type, name, value }) => html`
        <${Card}><${DescriptionList} items=${[
          { term: 'Type', detail: type },
          { term: 'Name', detail: html`<${CopyValue} value=${name} label=${`name of the ${type} record`} />` },
          { term: 'Value', detail: html`<${CopyValue} value=${value} label=${`value of the ${type} record`} />` },
        ]} /><//>`,
    )}
    ${list.some(({ type }) => type === 'ALIAS') && html`<p class="soft">Some DNS services call it ANAME or a flattened CNAME. Where there is none, add A and AAAA records with the addresses of ${gameNameOf(game, origins)}.</p>`}`
}

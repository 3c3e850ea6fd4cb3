import { Errors } from 'typebox/value'
import { InvalidRequest, invalidField, isPlatformError } from '../../../core/errors.ts'
import { Choices, type Content, Field, html } from '../../../core/pages/index.ts'
import { type App, CreateAppBody } from './schemas.ts'

/** The fields of an application's form, all as text. Those of a game have no home page of their own. */
export interface AppForm {
  name: string
  homepageUrl?: string
  /** One on each line. */
  redirectUris: string
  kind?: string
  idTokenSignedResponseAlg?: string
}

/** The fields of an application by the rules of the API. */
export interface AppFields {
  name: string
  homepageUrl?: string | null
  redirectUris: string[]
  public?: boolean
  idTokenSignedResponseAlg?: App['idTokenSignedResponseAlg']
}

const ADVICE: Record<keyof AppForm, string> = {
  name: 'Give it a name of 1 to 120 characters.',
  homepageUrl: 'Enter a whole web address, such as https://game.example.org.',
  redirectUris: 'Enter 1 to 20 whole addresses, each on a line of its own.',
  kind: 'Choose one of the two.',
  idTokenSignedResponseAlg: 'Choose one of the two.',
}

/** Parses a form by the rules of the API. @throws InvalidRequest with a sentence for each field */
export function readAppForm({ homepageUrl, kind, redirectUris, ...form }: AppForm): AppFields {
  const fields = {
    ...form,
    redirectUris: redirectUris.split(/\s+/).filter(Boolean),
    ...(homepageUrl === undefined ? {} : { homepageUrl: homepageUrl.trim() || null }),
    ...(kind === undefined ? {} : { public: kind === 'public' }),
  }
  const faulty = new Set(Errors(CreateAppBody, fields).map((error) => error.instancePath.split('/')[1] ?? ''))
  const details = Object.entries(ADVICE).flatMap(([path, message]) => (faulty.has(path) ? [{ path, message }] : []))
  const [first] = details
  if (!first) return fields as AppFields
  throw new InvalidRequest(first.message).with({ details })
}

/**
 * Runs a change, and reports the fault of a redirect URI at the field that has them all.
 *
 * @param uris those of the form, in its order
 */
export async function withUrisAsOneField<T>(uris: readonly string[], change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    const at = isPlatformError(error) ? /^redirectUris\.(\d+)$/.exec(error.details?.[0]?.path ?? '') : null
    if (!at) throw error
    throw invalidField('redirectUris', `${uris[Number(at[1])]}: ${(error as Error).message}`)
  }
}

const LINES = 'Where players come back to: whole addresses, each on a line of its own.'

/** The fields that a new application and one that changes have both. @param app null: a new one */
export const appFields = (app: App | null): Content => html`
  <${Field} label="Name" name="name" value=${app?.name} required maxlength=${120} autocomplete="off"
    hint="Players read it when they are asked whether it may sign them in." />
  ${
    app?.gameId == null &&
    html`<${Field} label="Home page" name="homepageUrl" type="url" value=${app?.homepageUrl} required=${false} maxlength=${2000} autocomplete="off" mono />`
  }
  <${Field} label="Redirect URIs" name="redirectUris" type="textarea" rows=${4} mono required maxlength=${41_000}
    value=${app?.redirectUris.join('\n')} hint=${app?.gameId ? `${LINES} Those at which this platform serves the game stay.` : LINES} />
  ${
    app
      ? html`<${Field} label="Signature of ID tokens" name="idTokenSignedResponseAlg" type="select" value=${app.idTokenSignedResponseAlg}
          options=${[
            { value: 'ES256', label: 'ES256' },
            { value: 'RS256', label: 'RS256, for libraries that know no other' },
          ]} />`
      : html`<${Choices} legend="Where does it run?" name="kind" value="secret" options=${[
          { value: 'secret', label: 'On a server', hint: 'It gets a client secret, which stays on the server.' },
          {
            value: 'public',
            label: 'In a browser or on a device',
            hint: 'A page without a server, a desktop program or an app. It has no secret and uses PKCE.',
          },
        ]} />`
  }`

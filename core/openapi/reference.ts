import { renderToString } from 'preact-render-to-string'
import { Chip, CodeBlock, type Content, html, inlineCode, PageHeader, type View } from '../pages/index.ts'
import { exampleOf, FieldLine, Fields, type JsonSchema, type Resolve } from './schema-fields.ts'

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema?: JsonSchema
}

interface Operation {
  summary?: string
  description?: string
  tags?: string[]
  deprecated?: boolean
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { content?: Record<string, { schema?: JsonSchema }> }
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: JsonSchema }> }>
}

interface Server {
  url: string
  variables?: Record<string, { default: string }>
}

/** The subset of OpenAPI 3.1 that the page shows. */
interface ApiDocument {
  info?: { title?: string; version?: string; description?: string }
  servers?: Server[]
  security?: Record<string, string[]>[]
  paths?: Record<string, Record<string, Operation> & { servers?: Server[] }>
  components?: {
    schemas?: Record<string, JsonSchema>
    securitySchemes?: Record<string, { type: string; in?: string; description?: string }>
  }
}

interface Entry {
  id: string
  method: string
  path: string
  operation: Operation
  /** The address of the server of the path, with examples for its variables. */
  server: string
}

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** Path of the reference; each group of operations has a page below it. */
export const REFERENCE_PATH = '/docs/api'

/**
 * Renders the overview of the API reference: every operation of an OpenAPI document (`app.swagger()`), grouped by tag
 * or else by the noun in its path, and the ways to authenticate.
 */
export function renderReference(document: object): View {
  return kept(document, '', () => overview(document)) as View
}

/**
 * Renders the operations of one group, each with an anchor. The page needs no script.
 *
 * @param group the group as in the URL, such as `games`
 * @returns null when the group does not exist
 */
export function renderReferenceGroup(document: object, group: string): { title: string; body: View } | null {
  const found = [...groupsOf(document)].find(([name]) => slug(name) === group)
  if (!found) return null
  const [name, entries] = found
  return { title: titleOf(name), body: kept(document, group, () => groupView(document, name, entries)) }
}

/** Caches rendered operations, since rendering is slow and the document does not change while the program runs. */
const rendered = new WeakMap<object, Map<string, string>>()

function kept(document: object, page: string, view: () => View): View {
  const pages = rendered.get(document) ?? new Map<string, string>()
  rendered.set(document, pages)
  const markup = pages.get(page) ?? renderToString(view())
  pages.set(page, markup)
  return html`<div dangerouslySetInnerHTML=${{ __html: markup }}></div>`
}

const pathOf = (group: string) => `${REFERENCE_PATH}/${slug(group)}`

function overview(document: object): View {
  const api = document as ApiDocument
  return html`
    <${PageHeader} title="API reference" chips=${api.info?.version && html`<${Chip}>version ${api.info.version}<//>`}
      lede=${api.info?.description ?? html`Everything here speaks JSON, answers errors as ${html`<code>{ "error": { "message", "code" } }</code>`}, and is described for machines in ${html`<a href="/openapi.json">openapi.json</a>`}.`} />
    <div class="operations reference-overview">
      <${Credentials} api=${api} />
      ${[...groupsOf(api)].map(
        ([group, entries]) => html`
          <section id=${slug(group)}><h2><a href=${pathOf(group)}>${titleOf(group)}</a></h2>
            <ul class="reference-list">${entries.map(
              ({ id, method, path, operation }) => html`
                <li id=${id}><a href=${`${pathOf(group)}#${id}`}><span class=${`method ${method}`}>${method.toUpperCase()}</span><span>${inlineCode(operation.summary ?? path)}</span></a><code>${breakable(path)}</code></li>`,
            )}</ul>
          </section>`,
      )}
    </div>`
}

function groupView(document: object, group: string, entries: Entry[]): View {
  const api = document as ApiDocument
  const contents = html`
    <ul>${[...groupsOf(api).keys()].map(
      (name) => html`
        <li><a class="contents-group" href=${pathOf(name)} aria-current=${name === group ? 'page' : undefined}>${titleOf(name)}</a>
          ${name === group && html`<ul>${entries.map(({ id, method, path, operation }) => html`<li><a href=${`#${id}`}><span class=${`method ${method}`}>${method.toUpperCase()}</span><span>${operation.summary ?? path}</span></a></li>`)}</ul>`}
        </li>`,
    )}</ul>`
  return html`
    <${PageHeader} title=${titleOf(group)} lede=${html`Part of the ${html`<a href=${REFERENCE_PATH}>API reference</a>`}.`} />
    <div class="reference">
      <details class="contents-fold"><summary class="button">Contents</summary><nav aria-label="Operations">${contents}</nav></details>
      <nav class="contents" aria-label="Operations">${contents}</nav>
      <div class="operations"><section><h2 class="visually-hidden">Operations</h2>
        ${entries.map((entry) => html`<${OperationView} entry=${entry} api=${api} />`)}
      </section></div>
    </div>`
}

/** The spelling of words that paths have in lower case. */
const SPELT: Record<string, string> = { ai: 'AI', oauth: 'OAuth', cli: 'CLI' }
const titleOf = (group: string): string => SPELT[group] ?? group.replace(/^./, (letter) => letter.toUpperCase())

function groupsOf(document: object): Map<string, Entry[]> {
  const api = document as ApiDocument
  const groups = new Map<string, Entry[]>()
  for (const [path, operations] of Object.entries(api.paths ?? {})) {
    for (const method of methods) {
      const operation = operations[method]
      if (!operation) continue
      const noun = path.split('/').find((part) => part !== '' && part !== 'api' && !part.startsWith('{')) ?? 'other'
      const group = operation.tags?.[0] ?? noun
      const entries = groups.get(group) ?? []
      groups.set(group, entries)
      const server = addressOf(operations.servers?.[0] ?? api.servers?.[0])
      entries.push({ id: `${method}-${slug(path)}`, method, path, operation, server })
    }
  }
  return new Map([...groups].sort(([a], [b]) => a.localeCompare(b)))
}

const addressOf = (server: Server | undefined): string =>
  (server?.url ?? '').replace(/\{(\w+)\}/g, (_, name) => server?.variables?.[name]?.default ?? name)

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** Describes the ways to authenticate, once for all operations. */
function Credentials({ api }: { api: ApiDocument }): View | null {
  const schemes = Object.entries(api.components?.securitySchemes ?? {})
  if (schemes.length === 0) return null
  return html`
    <section id="credentials"><h2>Credentials</h2>
      <ul class="fields">${schemes.map(
        ([name, scheme]) => html`
          <li><div class="field-line"><strong>${labelOf(name)}</strong><code class="field-type">${scheme.in === 'cookie' ? 'cookie' : 'Authorization: Bearer …'}</code></div>
            ${scheme.description && html`<p class="field-text">${inlineCode(scheme.description)}</p>`}</li>`,
      )}</ul>
    </section>`
}

/** Formats a name: `browserSession` → "browser session", `apiToken` → "API token", `oauthToken` → "OAuth token". */
const labelOf = (name: string) =>
  name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\bapi\b/, 'API')
    .replace(/\bcli\b/, 'CLI')
    .replace(/\boauth\b/, 'OAuth')

function callers(operation: Operation, api: ApiDocument): string {
  const rules = operation.security ?? api.security ?? []
  const named = rules.flatMap((rule) => Object.keys(rule).map(labelOf))
  if (named.length === 0) return 'Anyone'
  const scopes = [...new Set(rules.flatMap((rule) => Object.values(rule).flat()))]
  const kinds = new Intl.ListFormat('en', { type: 'disjunction' }).format(named)
  const who = rules.some((rule) => Object.keys(rule).length === 0) ? `Anyone; more with ${kinds}` : kinds
  return scopes.length > 0 ? `${who}, with scope \`${scopes.join('` `')}\`` : who
}

function OperationView({ entry, api }: { entry: Entry; api: ApiDocument }): View {
  const { id, method, path, operation } = entry
  const resolve: Resolve = (schema) => {
    const name = schema.$ref?.split('/').at(-1)
    return name ? (api.components?.schemas?.[name] ?? schema) : schema
  }
  const [bodyType, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const responses = Object.entries(operation.responses ?? {})
  return html`
    <article class="operation" id=${id}>
      <h3><a href=${`#${id}`}>${operation.summary ?? path}</a>${operation.deprecated && html`<${Chip} tone="warn">deprecated<//>`}</h3>
      <p class="operation-path"><span class=${`method ${method}`}>${method.toUpperCase()}</span><code>${breakable(path)}</code></p>
      ${operation.description && html`<p>${inlineCode(operation.description)}</p>`}
      <p class="operation-who"><span class="soft">Callers</span> ${inlineCode(callers(operation, api))}</p>
      ${
        operation.parameters &&
        html`
          <h4>Parameters</h4>
          <ul class="fields">${operation.parameters.map(
            (parameter) =>
              html`<li><${FieldLine} name=${parameter.name} schema=${resolve(parameter.schema ?? {})} resolve=${resolve} required=${parameter.required} place=${parameter.in} description=${parameter.description} /></li>`,
          )}</ul>`
      }
      ${body?.schema && html`<h4>Body <span class="soft">${bodyType}</span></h4><${Fields} schema=${body.schema} resolve=${resolve} />`}
      ${responses.length > 0 && html`<h4>Answers</h4>${responses.map(([status, response]) => html`<${ResponseView} status=${status} response=${response} resolve=${resolve} />`)}`}
      <${CodeBlock} title=${`curl: ${operation.summary ?? path}`} code=${curl(entry, api, resolve)} />
    </article>`
}

function ResponseView(props: {
  status: string
  response: NonNullable<Operation['responses']>[string]
  resolve: Resolve
}): View {
  const { status, response, resolve } = props
  const [first] = Object.entries(response.content ?? {})
  const schema = first?.[1].schema
  const types = first && first[0] !== 'application/json' ? Object.keys(response.content ?? {}) : []
  const head = html`<code class=${`status s${status[0]}`}>${status}</code><span>${response.description}${types.map((type) => html` <code>${type}</code>`)}</span>`
  // The one form of errors is described at the top.
  if (!schema || types.length > 0 || schema.$ref?.endsWith('Error')) return html`<p class="response">${head}</p>`
  return html`<details class="response" open=${status.startsWith('2')}><summary>${head}</summary><${Fields} schema=${schema} resolve=${resolve} /></details>`
}

/** Allows line breaks in a long path after its slashes. */
const breakable = (path: string): Content => path.split(/(?<=\/)/).map((part) => html`${part}<wbr />`)

/** Generates a command that calls the operation, with example values that fit its schemas. */
function curl({ method, path, operation, server }: Entry, api: ApiDocument, resolve: Resolve): string {
  const query = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map((parameter) => `${parameter.name}=${exampleOf(parameter.schema ?? {}, resolve, parameter.name)}`)
  const address = server + path + (query.length > 0 ? `?${query.join('&')}` : '')
  const lines = [`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}'${address}'`]
  const rules = operation.security ?? api.security ?? []
  const bearer = rules.some((rule) =>
    Object.keys(rule).some((name) => api.components?.securitySchemes?.[name]?.type === 'http'),
  )
  if (bearer) lines.push(`-H "Authorization: Bearer $TOKEN"`)
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  if (type && body?.schema) {
    const example = exampleOf(body.schema, resolve)
    const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
    if (type === 'application/json') {
      lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(example, null, 2))}`)
    } else if (typeof example !== 'object') {
      lines.push(`-H 'Content-Type: ${type.replace('*/*', 'application/octet-stream')}'`, '--data-binary @FILE')
    } else {
      const option = type === 'multipart/form-data' ? '-F' : '--data-urlencode'
      for (const [name, value] of Object.entries(example ?? {})) lines.push(`${option} ${quoted(`${name}=${value}`)}`)
    }
  }
  return lines.join(' \\\n  ')
}

import {
  Button,
  Checkbox,
  Field,
  Form,
  Grid,
  html,
  inlineCode,
  PageHeader,
  type View,
} from '../../../core/pages/index.ts'
import { NO_GAME } from '../../assets/index.ts'
import type { Starter } from '../catalog/starters.ts'
import { HELPER_API } from '../generations/prompts.ts'
import type { Job, Template } from '../schemas.ts'

/** The types of a template's parameters. */
interface Property {
  type: 'string' | 'number' | 'integer' | 'boolean'
  title: string
  description?: string
  default: string | number | boolean
  enum?: string[]
  minimum?: number
  maximum?: number
  pattern?: string
}

interface Shown {
  template: Template | null
  starters: Starter[]
  /** The submitted values if the form is shown again. */
  values: Record<string, string>
  problem: string | undefined
  /** The address of the script editor. */
  editor: string
  /** What the player makes. */
  games: { value: string; label: string }[]
}

const propertiesOf = (template: Template): [string, Property][] =>
  Object.entries((template.parameters as { properties: Record<string, Property> }).properties)

export const newJobPage = ({ template, starters, values, problem, editor, games }: Shown): View => html`
  <${PageHeader} title=${template ? `New job: ${template.title}` : 'New job'} crumbs=${[{ label: 'Blender jobs', href: '/blender' }]}
    lede=${template?.description ?? 'Your script runs in an empty scene, in a sandbox without network and files, for a few minutes at most.'} />
  <${Form} action=${`/blender/new${template ? `?template=${template.id}` : ''}`} error=${problem} submit="Queue the job"
    beside=${html`<${Button} kind="quiet" href="/blender">Back<//>`}>
    <${Field} label="Name" name="name" required maxlength=${120} autocomplete="off" value=${values.name ?? template?.title} />
    ${template && html`<${Grid}>${propertiesOf(template).map(([name, property]) => control(name, property, values))}<//>`}
    <${Field} label="Starter" name="starter" type="select" value=${values.starter ?? ''} hint="A ready-made part, beside the rest."
      options=${[{ value: '', label: 'None' }, ...starters.map(({ id, title }) => ({ value: id, label: title }))]} />
    <${Field} label="Script" name="script" type="textarea" rows=${12} mono required=${!template} value=${values.script} data-editor=${editor}
      hint=${template ? inlineCode(`Python that runs after the template. ${template.guidance}`) : 'Python that builds the model.'} />
    ${
      games.length > 0 &&
      html`<${Field} label="Game" name="gameId" type="select" value=${values.gameId ?? ''} options=${[NO_GAME, ...games]}
        hint="Everybody who makes this game sees the job, cancels it and goes on from it." />`
    }
    <details><summary>Helpers for scripts</summary><pre class="code"><code>${HELPER_API}</code></pre></details>
  <//>`

function control(name: string, property: Property, values: Record<string, string>): View {
  const field = `p.${name}`
  const label = property.title
  const hint = property.description === undefined ? undefined : inlineCode(property.description)
  const sent = values.name !== undefined
  if (property.type === 'boolean')
    return html`<${Checkbox} label=${label} name=${field} hint=${hint} checked=${sent ? values[field] === 'on' : property.default} />`
  const value = values[field] ?? String(property.default)
  if (property.enum)
    return html`<${Field} label=${label} name=${field} type="select" hint=${hint} value=${value} options=${property.enum.map((option) => ({ value: option, label: option }))} />`
  if (property.type === 'string')
    return html`<${Field} label=${label} name=${field} hint=${hint ?? 'A colour, such as #c8352b.'} value=${value} mono required pattern=${property.pattern?.replace(/^\^|\$$/g, '')} />`
  const { minimum: min, maximum: max } = property
  return html`<${Field} label=${label} name=${field} type="number" hint=${hint ?? `${min} to ${max}`} value=${value} min=${min} max=${max}
    step=${property.type === 'integer' ? 1 : 'any'} required />`
}

/** Reads the template's parameters from a form, converted to the types of the schema. */
export function parametersFrom(template: Template, fields: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    propertiesOf(template).map(([name, { type }]) => {
      const text = fields[`p.${name}`]
      if (type === 'boolean') return [name, text === 'on']
      return [name, type === 'string' ? text : text?.trim() ? Number(text) : undefined]
    }),
  )
}

/** Does the reverse: fills in a form with a job's values. */
export function fieldsFrom(job: Job, script: string | null): Record<string, string> {
  const parameters = Object.entries(job.parameters).map(([name, value]) => [
    `p.${name}`,
    typeof value === 'boolean' ? (value ? 'on' : '') : String(value),
  ])
  return {
    ...Object.fromEntries(parameters),
    name: job.name,
    script: script ?? '',
    gameId: job.gameId ?? '',
    starter: job.starterAssets[0] ?? '',
  }
}

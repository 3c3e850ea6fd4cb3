import {
  Card,
  Checkbox,
  CodeBlock,
  Field,
  Form,
  html,
  Notice,
  PageHeader,
  Section,
  Split,
  Stats,
  Tabs,
  type View,
} from '../../../core/pages/index.ts'
import type { GenerateRequest, Generation, Picture } from '../schemas.ts'
import { curlOf, sdkOf } from './snippets.ts'

const TYPES = ['text', 'object', 'image'] as const
type GenerationType = (typeof TYPES)[number]

/** The form as entered. */
export interface PlaygroundForm {
  type: GenerationType
  prompt: string
  system: string
  schema: string
  model: string
  aspectRatio: string
  imageSize: string
}

interface PlaygroundProps {
  form: PlaygroundForm
  models: readonly string[]
  available: number
  portal: string
  /** The request of the form, if it is complete. */
  request: GenerateRequest | null
  answer: Generation | null
  /** What became of the picture that was to be kept. */
  kept: Kept | null
  problem: PlaygroundProblem | null
}

/** Why there is no answer: what is wrong with each field, or a sentence about the whole form. */
export type PlaygroundProblem = { fields: ReadonlyMap<string, string> } | { message: string }

/** The page of an asset, or why a picture did not become one. */
export type Kept = { path: string } | { problem: string }

const TITLES = { text: 'Text', object: 'Object', image: 'Image' } as const

/** /playground: a form for each type, with the equivalent code. */
export function playground(props: PlaygroundProps): View {
  const { form, models, available, portal, request, answer, kept, problem } = props
  const tabs = TYPES.map((type) => ({ label: TITLES[type], href: `/playground?type=${type}` }))
  const shown = request ?? example(form.type)
  return html`
    <${PageHeader} title="Playground" lede="Try the AI route with your own credits, and copy the code for your game." />
    <${Tabs} label="What to generate" tabs=${tabs} current=${`/playground?type=${form.type}`} />
    <${Split} aside=${html`<${Stats} items=${[{ label: 'Credits available', value: answer?.balance ?? available }, ...(answer ? [{ label: 'This cost', value: answer.creditsUsed }] : [])]} />`}>
      ${answer && answer.finish !== 'complete' && html`<${Notice} tone="warn">${answer.finish === 'length' ? 'This text was cut: it reached the limit of its tokens.' : 'The filter of the AI provider ended this text early.'}<//>`}
      ${answer && html`<${Result} answer=${answer} prompt=${form.prompt} kept=${kept} />`}
      ${
        models.length === 0
          ? html`${problem && 'message' in problem && html`<${Notice} tone="error">${problem.message}<//>`}<${Notice} title=${`This server generates no ${form.type}s`}>The administrator of this server has not set up AI for it. That is the section <code>ai</code> of the configuration.<//>`
          : html`<${Card}>${fields(form, { models, problem })}<//>`
      }
    <//>
    <${Section} title="The same from a program" description=${html`Create a token with the scope <code>ai:generate</code> in <a href="/settings/tokens">your settings</a>. Pages of any origin may call it.`}>
      <${CodeBlock} title="Terminal" code=${curlOf(portal, shown)} />
      <${CodeBlock} title="JavaScript" code=${sdkOf(portal, shown)} />
    <//>`
}

function fields(form: PlaygroundForm, { models, problem }: Pick<PlaygroundProps, 'models' | 'problem'>): View {
  const errors = problem && 'fields' in problem ? problem.fields : new Map<string, string>()
  return html`
  <${Form} action="/playground" submit="Generate" error=${problem && 'message' in problem ? problem.message : undefined}>
    <input type="hidden" name="type" value=${form.type} />
    <${Field} label="Prompt" name="prompt" type="textarea" rows=${4} value=${form.prompt} required maxlength=${8000} error=${errors.get('prompt')} />
    ${form.type !== 'image' && html`<${Field} label="System" name="system" value=${form.system} required=${false} maxlength=${2000} autocomplete="off" hint="Instructions for the model, before the prompt." error=${errors.get('system')} />`}
    ${form.type === 'object' && html`<${Field} label="JSON Schema" name="schema" type="textarea" rows=${8} mono value=${form.schema} required=${false} hint="An object that does not fit the schema costs nothing." error=${errors.get('schema')} />`}
    ${
      form.type === 'image' &&
      html`<${Field} label="Size" name="imageSize" type="select" value=${form.imageSize} options=${[
        { value: '1K', label: '1K' },
        { value: '2K', label: '2K' },
      ]} /><${Field} label="Aspect ratio" name="aspectRatio" value=${form.aspectRatio} required=${false} placeholder="16:9" maxlength=${5} autocomplete="off" error=${errors.get('aspectRatio')} />`
    }
    ${models.length > 1 && html`<${Field} label="Model" name="model" type="select" value=${form.model || models[0]} options=${models.map((model) => ({ value: model, label: model }))} error=${errors.get('model')} />`}
    ${form.type === 'image' && html`<${Checkbox} label="Keep it as an asset" name="keep" value="true" hint="A private one of yours. Otherwise the picture is gone with this page." />`}
  <//>`
}

const Result = ({ answer, prompt, kept }: { answer: Generation; prompt: string; kept: Kept | null }): View => {
  if (answer.type === 'image') {
    const { contentType, b64Json } = answer.result as Picture
    return html`
      ${kept && ('path' in kept ? html`<${Notice} tone="success">The picture is <a href=${kept.path}>an asset of yours</a> now.<//>` : html`<${Notice} tone="error">The picture was not kept as an asset: ${kept.problem}<//>`)}
      <${Card} title=${`By ${answer.model}`}><img src=${`data:${contentType};base64,${b64Json}`} alt=${prompt} /><//>`
  }
  const code = answer.type === 'text' ? String(answer.result) : JSON.stringify(answer.result, null, 2)
  return html`<${CodeBlock} title=${`By ${answer.model}`} code=${code} />`
}

/** The initial values of the form. */
export const EXAMPLES: Record<GenerationType, Partial<PlaygroundForm>> = {
  text: { prompt: 'Write a two-line greeting by the keeper of a floating lighthouse.' },
  object: {
    prompt: 'A friendly forest creature for a card game.',
    schema: JSON.stringify(
      {
        type: 'object',
        properties: {
          name: { type: 'string' },
          health: { type: 'integer' },
          lines: { type: 'array', items: { type: 'string' } },
        },
        required: ['name', 'health', 'lines'],
      },
      null,
      2,
    ),
  },
  image: { prompt: 'A paper boat on a pond at dusk, seen from above, for a puzzle game.', imageSize: '1K' },
}

function example(type: GenerationType): GenerateRequest {
  const { prompt = '', schema } = EXAMPLES[type]
  return { type, prompt, maxOutputTokens: 4096, ...(schema ? { schema: JSON.parse(schema) } : {}) }
}

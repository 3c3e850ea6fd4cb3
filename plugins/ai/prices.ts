import type { Pricing } from '../../drivers/ai/interface.ts'
import type { GenerateRequest } from './schemas.ts'

const USUAL = { outputTokens: 1, '1K': 10, '2K': 20 }

type Priced = Pick<GenerateRequest, 'type' | 'maxOutputTokens' | 'imageSize'>

/** The highest possible cost of a generation, in credits. */
export const worstPrice = (request: Priced, model: string, pricing: Pricing): number =>
  priceOf(request, model, pricing, request.maxOutputTokens)

/**
 * The cost of a generation, in credits: never more than the worst case.
 *
 * @param outputTokens generated tokens; ignored for an image
 */
export function priceOf(request: Priced, model: string, pricing: Pricing, outputTokens: number): number {
  const own = Object.hasOwn(pricing, model) ? pricing[model] : undefined
  const price = { ...USUAL, ...own }
  if (request.type === 'image') return price[request.imageSize ?? '1K']
  const counted = Math.min(Math.max(1, outputTokens), request.maxOutputTokens)
  return Math.ceil(counted / 1000) * price.outputTokens
}

/** Estimates the tokens of a text whose provider does not count them: about four characters each. */
export const estimateTokens = (text: string): number => Math.ceil(text.length / 4)

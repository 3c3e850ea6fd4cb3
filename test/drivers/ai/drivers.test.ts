import anthropic from '../../../drivers/ai/anthropic.ts'
import { anthropicProtocol, googleProtocol, openaiProtocol } from '../../../drivers/ai/conformance/protocols.ts'
import { SECRET, testAiDriver } from '../../../drivers/ai/conformance.ts'
import google from '../../../drivers/ai/google.ts'
import openai from '../../../drivers/ai/openai.ts'
import openaiCompatible from '../../../drivers/ai/openai-compatible.ts'
import { driverContext } from '../../kit/driver-context.ts'

const common = (text: string, image?: string) => ({
  apiKey: SECRET,
  models: { text, ...(image ? { image } : {}) },
  pricing: {},
})

for (const structuredOutputs of [true, false])
  testAiDriver({
    name: `openai-compatible${structuredOutputs ? '' : ' without schemas'}`,
    create: (url) =>
      openaiCompatible.create(
        { ...common('llama', 'painter'), baseUrl: `${url}/v1`, structuredOutputs },
        driverContext(),
      ),
    protocol: openaiProtocol,
  })

testAiDriver({
  name: 'openai',
  create: (url) => openai.create({ ...common('gpt-4.1', 'gpt-image-1'), baseUrl: `${url}/v1` }, driverContext()),
  protocol: openaiProtocol,
})

testAiDriver({
  name: 'anthropic',
  create: (url) => anthropic.create({ ...common('claude-sonnet-4-5'), baseUrl: `${url}/v1` }, driverContext()),
  protocol: anthropicProtocol,
})

testAiDriver({
  name: 'google',
  create: (url) =>
    google.create(
      { ...common('gemini-2.5-flash', 'gemini-2.5-flash-image'), baseUrl: `${url}/v1beta` },
      driverContext(),
    ),
  protocol: googleProtocol,
})

// The worker thread program that compiles the JSON Schemas of callers, and checks generated objects.
import { parentPort } from 'node:worker_threads'
import { checkObject, type SchemaTask } from '../object-schema.ts'

parentPort?.on('message', async (task: SchemaTask) => parentPort?.postMessage(await checkObject(task)))

// The worker thread program that checks room scripts. Each message is the text of one, and each answer what was found.
import { parentPort } from 'node:worker_threads'
import { inspectScript } from '../room-script/inspect.ts'

parentPort?.on('message', (source: string) => parentPort?.postMessage(inspectScript(source)))

// The worker thread program that reads room scripts. Each message is the text of one, or places in one that has a source
// map.
import { parentPort } from 'node:worker_threads'
import { inspectScript } from '../room-script/inspect.ts'
import { locateInSources } from '../room-script/source-map.ts'
import type { ScriptAnswer, ScriptTask } from '../room-script/worker.ts'

const answerTo = (task: ScriptTask): ScriptAnswer =>
  'source' in task
    ? { inspection: inspectScript(task.source) }
    : { places: locateInSources(task.sourceMap, task.places) }

parentPort?.on('message', (task: ScriptTask) => parentPort?.postMessage(answerTo(task)))

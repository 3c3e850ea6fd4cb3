// The worker thread program that reads room scripts and source maps. Each message is the text of a script, or a map with
// places in its script.
import { parentPort } from 'node:worker_threads'
import { inspectScript } from '../room-script/inspect.ts'
import type { ScriptAnswer, ScriptTask } from '../script-worker.ts'
import { locateInSources } from '../source-maps/source-map.ts'

const answerTo = (task: ScriptTask): ScriptAnswer =>
  'source' in task
    ? { inspection: inspectScript(task.source) }
    : { places: locateInSources(task.sourceMap, task.places) }

parentPort?.on('message', (task: ScriptTask) => parentPort?.postMessage(answerTo(task)))

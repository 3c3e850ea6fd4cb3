import type { Template } from '../schemas.ts'

/** The maximum number of output characters for the model. */
const SHOWN = 2000

/** The helper API for models and the guide; see harness/gameyard_job.py. */
export const HELPER_API = `Units are metres, +Z is up, the front faces -Y. \`bpy\` and \`job\` are there without an import; NumPy may be imported.
job.param(name, default) -> value of a parameter
job.random() -> random.Random, seeded
job.progress(fraction, message); job.log(...); job.warn(message)
job.material(name, '#rrggbb', roughness=0.8, metallic=0.0, emission=0.0) -> material, the same one for the same name
job.box(name, (x, y, z), material, (x, y, z) of its foot, taper=1.0) -> object standing on that point
job.cylinder(name, radius, height, material, foot, sides=12, top=None) -> object; top=0 is a cone
job.lathe(name, [(radius, height), ...], material, foot, sides=12, smooth=False) -> object turned around Z
job.blob(name, radius, material, middle, detail=1, roughness=0.15, squash=1.0) -> uneven ball
job.mesh(name, vertices, faces, material, location, smooth=False) -> object; faces counter-clockwise from outside
job.turn(object, x=0, y=0, z=0) in degrees; job.copy(object, name, location, degrees) shares the mesh
job.parent([objects], parent); job.join(name, [objects]) -> one object
job.add_starter(id, location, degrees, scale) -> object`

/** Returns the instructions for the model, which precede the player's prompt. */
export function instructions(
  template: Template | null,
  { parameters, blenderVersion }: { parameters: Record<string, unknown>; blenderVersion: string | null },
): string {
  const scene = template
    ? `The template "${template.title}" has been built already with the parameters ${JSON.stringify(parameters)}. ${template.guidance}`
    : 'The scene is empty. Build the model standing on the origin.'
  return `You write Python for Blender${blenderVersion ? ` ${blenderVersion}` : ''} that makes a low-poly model for a game. Answer with one Python program in a fenced block and nothing else. It runs inside Blender in the background, once, without network or files. What is visible in the scene at its end becomes the model; do not export, render, save or quit.

${scene}

The helper API:
${HELPER_API}`
}

/** Returns a prompt with the error of the model's script. */
export function repairPrompt({
  prompt,
  script,
  log,
  error,
}: {
  prompt: string
  script: string
  log: string
  error: string
}): string {
  const room = 8000 - prompt.length - SHOWN - error.length - 500
  return `${prompt}

Your program failed: ${error.slice(0, SHOWN)}

The end of its output:
${log.slice(-SHOWN / 2)}

The program was:
\`\`\`python
${script.slice(0, Math.max(500, room))}
\`\`\`

Answer with the whole corrected program.`.slice(0, 8000)
}

/** Extracts the program from a model's answer: its first fenced block, or else the whole answer. */
export const scriptIn = (answer: string): string => /```(?:python|py)?\s*\n([\s\S]*?)```/i.exec(answer)?.[1] ?? answer

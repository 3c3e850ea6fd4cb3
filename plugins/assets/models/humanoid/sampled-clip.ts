import type { Accessor, Animation, AnimationSampler, Document, Node } from '@gltf-transform/core'
import { add, between, IDENTITY, multiply, normalize, type Quaternion, rotate, scale, type Vector } from './math.ts'
import type { Place } from './skeleton.ts'

type Path = 'rotation' | 'translation'

/** A clip of a file, which gives the position of its nodes at any time. */
export class SampledClip {
  /** Duration in seconds, from the first keyframe. */
  readonly seconds: number
  readonly #begin: number
  readonly #tracks = new Map<Node, Partial<Record<Path, Track>>>()

  constructor(animation: Animation) {
    let [begin, end] = [Number.POSITIVE_INFINITY, 0]
    for (const channel of animation.listChannels()) {
      const [node, path, sampler] = [channel.getTargetNode(), channel.getTargetPath(), channel.getSampler()]
      if (!node || !sampler || (path !== 'rotation' && path !== 'translation')) continue
      const track = trackOf(sampler, path === 'rotation' ? 4 : 3)
      if (!track) continue
      this.#tracks.set(node, { ...this.#tracks.get(node), [path]: track })
      begin = Math.min(begin, track.times[0] as number)
      end = Math.max(end, track.times.at(-1) as number)
    }
    this.#begin = Math.min(begin, end)
    this.seconds = end - this.#begin
  }

  /** The nodes that the clip moves or rotates. */
  get nodes(): Node[] {
    return [...this.#tracks.keys()]
  }

  turns(node: Node): boolean {
    return this.#tracks.get(node)?.rotation !== undefined
  }

  moves(node: Node): boolean {
    return this.#tracks.get(node)?.translation !== undefined
  }

  rotation(node: Node, seconds: number): Quaternion {
    const track = this.#tracks.get(node)?.rotation
    return normalize((track ? sample(track, this.#begin + seconds) : node.getRotation()) as Quaternion)
  }

  translation(node: Node, seconds: number): Vector {
    const track = this.#tracks.get(node)?.translation
    return (track ? sample(track, this.#begin + seconds) : node.getTranslation()) as Vector
  }

  /** @param rest returns the rest pose of a node, for the scale of its parent */
  at(seconds: number, rest: (node: Node) => Place): ClipPose {
    return new ClipPose(this, seconds, rest)
  }
}

/** The pose of a clip at one time, in world space. */
export class ClipPose {
  readonly #clip: SampledClip
  readonly #seconds: number
  readonly #rest: (node: Node) => Place
  readonly #known = new Map<Node, { rotation: Quaternion; position: Vector }>()

  constructor(clip: SampledClip, seconds: number, rest: (node: Node) => Place) {
    this.#clip = clip
    this.#seconds = seconds
    this.#rest = rest
  }

  of(node: Node): { rotation: Quaternion; position: Vector } {
    const known = this.#known.get(node)
    if (known) return known
    const parent = node.getParentNode()
    const above = parent ? this.of(parent) : { rotation: IDENTITY, position: [0, 0, 0] as Vector }
    const offset = scale(this.#clip.translation(node, this.#seconds), parent ? this.#rest(parent).scale : 1)
    const place = {
      rotation: multiply(above.rotation, this.#clip.rotation(node, this.#seconds)),
      position: add(above.position, rotate(above.rotation, offset)),
    }
    this.#known.set(node, place)
    return place
  }
}

/**
 * Names the clips of a document. A clip without a name is called `animation_<index>`, as in viewers, and the second of a
 * name gets `_2` at its end, so that each can be reached.
 */
export function clipNames(document: Document): string[] {
  const used = new Set<string>()
  return document
    .getRoot()
    .listAnimations()
    .map((clip, index) => {
      const name = clip.getName() || `animation_${index}`
      let unique = name
      for (let number = 2; used.has(unique); number++) unique = `${name}_${number}`
      used.add(unique)
      return unique
    })
}

/** Finds a clip by the name that `clipNames` gives it. */
export function findClip(document: Document, name: string): Animation | null {
  return document.getRoot().listAnimations()[clipNames(document).indexOf(name)] ?? null
}

interface Track {
  times: number[]
  /** The values in sequence. For a cubic spline, each value is between its two tangents. */
  values: number[]
  width: number
  interpolation: 'LINEAR' | 'STEP' | 'CUBICSPLINE'
}

function trackOf(sampler: AnimationSampler, width: number): Track | null {
  const [input, output] = [sampler.getInput(), sampler.getOutput()]
  const interpolation = sampler.getInterpolation()
  if (!input || !output || input.getCount() === 0) return null
  const perKey = interpolation === 'CUBICSPLINE' ? 3 : 1
  // The validator refuses such a clip. If one passes, it moves nothing.
  if (output.getElementSize() !== width || output.getCount() < input.getCount() * perKey) return null
  return { times: numbersOf(input), values: numbersOf(output), width, interpolation }
}

function numbersOf(accessor: Accessor): number[] {
  const element: number[] = []
  const numbers: number[] = []
  for (let index = 0; index < accessor.getCount(); index++) {
    accessor.getElement(index, element)
    numbers.push(...element)
  }
  return numbers
}

/** Returns the value of a track at a time. Before its first and after its last key it is constant (glTF 2.0, 3.11). */
function sample({ times, values, width, interpolation }: Track, time: number): number[] {
  const after = firstAfter(times, time)
  const cubic = interpolation === 'CUBICSPLINE'
  const value = (key: number, which = 1) => {
    const start = cubic ? (key * 3 + which) * width : key * width
    return values.slice(start, start + width)
  }
  if (after === 0) return value(0)
  const key = after - 1
  if (after === times.length || interpolation === 'STEP') return value(key)
  const [begin, end] = [times[key] as number, times[after] as number]
  const part = (time - begin) / (end - begin)
  if (cubic) return spline(part, end - begin, [value(key), value(key, 2), value(after), value(after, 0)])
  const [a, b] = [value(key), value(after)]
  if (width === 4) return between(a as Quaternion, b as Quaternion, part)
  return a.map((each, at) => each + ((b[at] as number) - each) * part)
}

/** Returns the index of the first time after another, or the number of times when there is none. */
function firstAfter(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] as number) > time) high = middle
    else low = middle + 1
  }
  return low
}

/** Hermite interpolation (glTF 2.0, appendix C.5). */
function spline(
  part: number,
  seconds: number,
  [from, leaving, to, arriving]: [number[], number[], number[], number[]],
) {
  const [square, cube] = [part ** 2, part ** 3]
  return from.map(
    (value, at) =>
      (2 * cube - 3 * square + 1) * value +
      seconds * (cube - 2 * square + part) * (leaving[at] as number) +
      (3 * square - 2 * cube) * (to[at] as number) +
      seconds * (cube - square) * (arriving[at] as number),
  )
}

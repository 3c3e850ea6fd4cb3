import type { Document, Node } from '@gltf-transform/core'
import { findHumanoid, type Humanoid, jointsOf, type Limb, readName, SIDES } from './bones.ts'
import { FRAMES_A_SECOND, type Frames, putRotation, putTranslation, record } from './clip.ts'
import {
  add,
  angleBetween,
  arc,
  between,
  direction,
  dot,
  IDENTITY,
  invert,
  length,
  multiply,
  type Quaternion,
  rotate,
  scale,
  subtract,
  type Vector,
} from './math.ts'
import { type ClipPose, findClip, SampledClip } from './sampled-clip.ts'
import { Skeleton } from './skeleton.ts'

/** The maximum length of a clip. A clip of this length has 18,000 frames. */
const MOST_SECONDS = 600
/** The maximum angle between the rest poses of two bones of one name that rotate alike, in radians. */
const ALIKE = 0.1
/** The minimum fraction of a non-humanoid clip's nodes that the model must contain. */
const ENOUGH = 0.5

export type DoesNotApply = 'no_clip' | 'does_not_fit' | 'too_long'

/**
 * Computes a clip of one file for the rig of another. Humanoid rigs are matched whatever their bone names and rest poses;
 * other rigs by bone names.
 */
export function retargetedFrames(document: Document, library: Document, name: string): Frames | DoesNotApply {
  const animation = findClip(library, name)
  if (!animation) return 'no_clip'
  const clip = new SampledClip(animation)
  if (clip.seconds > MOST_SECONDS) return 'too_long'
  const count = Math.round(clip.seconds * FRAMES_A_SECOND)
  const times = Float32Array.from({ length: count + 1 }, (_, frame) => (count && frame / count) * clip.seconds)
  const frames: Frames = { name, times, rotations: new Map(), translations: new Map() }
  const [to, from] = [findHumanoid(document), findHumanoid(library)]
  if (to && from) retarget(frames, clip, { to: new Skeleton(to), from: new Skeleton(from), document, library })
  else if (!copyByName(frames, clip, document)) return 'does_not_fit'
  if (frames.rotations.size === 0 && frames.translations.size === 0) return 'does_not_fit'
  return frames
}

/** A pair of corresponding bones, and the rotation that aligns one rest pose with the other. */
interface Pair {
  node: Node
  from: readonly Node[]
  /** The interpolation between two source bones, from 0 to 1. */
  part: number
  aligned: Quaternion
}

/**
 * Each bone of the model makes the rotation that the bone of its role makes, relative to its rest pose in world space.
 * Limbs are first brought into the rest pose of the library, so that arms that hang and arms that are spread end in the
 * same pose.
 */
function retarget(
  frames: Frames,
  clip: SampledClip,
  rigs: { to: Skeleton; from: Skeleton; document: Document; library: Document },
): void {
  const { to, from } = rigs
  const pairs = pairsOf(to, from)
  const turn = multiply(to.frame, invert(from.frame))
  const rest = (node: Node) => from.place(node)
  for (const [frame, seconds] of frames.times.entries()) {
    const pose = clip.at(seconds, rest)
    const world = new Map<Node, Quaternion>()
    for (const { node, from: sources, part, aligned } of pairs) {
      const [a = IDENTITY, b = a] = sources.map((source) => inFrame(turn, turnOf(pose, from, source)))
      world.set(node, multiply(multiply(between(a, b, part), aligned), to.place(node).rotation))
    }
    const moved = hipsShift(pose, { to, from, turn, world })
    record(frames, frame, { bones: to.bones, posed: to.localPose(world, moved) })
  }
  copyDetails(frames, clip, { ...rigs, known: new Set(pairs.map(({ node }) => node)) })
}

/** Returns a bone's rotation relative to its rest pose, in world space. */
const turnOf = (pose: ClipPose, from: Skeleton, node: Node): Quaternion =>
  multiply(pose.of(node).rotation, invert(from.place(node).rotation))

/** Expresses a rotation in a rotated frame. */
const inFrame = (turn: Quaternion, rotation: Quaternion): Quaternion => multiply(multiply(turn, rotation), invert(turn))

function pairsOf(to: Skeleton, from: Skeleton): Pair[] {
  const [model, source] = [to.bones, from.bones]
  const chest = source.spine.at(-1) ?? source.hips
  const turn = multiply(to.frame, invert(from.frame))
  const straight = (node: Node, other: Node): Pair => ({ node, from: [other], part: 0, aligned: IDENTITY })
  const limbs = SIDES.flatMap((side) => [
    ...collarPairs([model, model.arms[side]], [source, source.arms[side]]),
    ...limbPairs(model.arms[side], source.arms[side], { to, from, turn, handFollows: true }),
    ...limbPairs(model.legs[side], source.legs[side], { to, from, turn, handFollows: false }),
  ])
  return [
    straight(model.hips, source.hips),
    ...chainPairs(model.spine, [source.hips, ...source.spine]),
    ...chainPairs(model.neck, [chest, ...source.neck]),
    ...limbs,
  ]
}

/** Distributes the rotations of one chain over another. @param source begins with the parent bone */
const chainPairs = (nodes: readonly Node[], source: readonly Node[]): Pair[] =>
  nodes.map((node, index) => {
    const at = ((index + 1) / nodes.length) * (source.length - 1)
    const [first, second] = [source[Math.floor(at)], source[Math.ceil(at)]] as [Node, Node]
    return { node, from: first === second ? [first] : [first, second], part: at % 1, aligned: IDENTITY }
  })

interface Alignment {
  to: Skeleton
  from: Skeleton
  turn: Quaternion
  /** Hands follow the rest pose of the arms. Feet rest on the ground, whatever the rest pose of the legs. */
  handFollows: boolean
}

function limbPairs(model: Limb, source: Limb, { to, from, turn, handFollows }: Alignment): Pair[] {
  const aligned = (limb: 'upper' | 'lower') => {
    const [a, b] = [alongOf(to, model, limb), alongOf(from, source, limb)]
    return a && b ? arc(a, rotate(turn, b)) : IDENTITY
  }
  const upper = aligned('upper')
  const lower = source.lower ? aligned('lower') : model.lower ? upper : IDENTITY
  const pairs: Pair[] = [{ node: model.upper, from: [source.upper], part: 0, aligned: upper }]
  if (model.lower) pairs.push({ node: model.lower, from: [source.lower ?? source.upper], part: 0, aligned: lower })
  if (model.end && source.end) {
    pairs.push({ node: model.end, from: [source.end], part: 0, aligned: handFollows ? lower : IDENTITY })
  }
  return pairs
}

/** Returns the direction of a limb bone at rest; for a limb of one bone, that of the whole limb. */
function alongOf(rig: Skeleton, limb: Limb, which: 'upper' | 'lower'): Vector | null {
  const elbow = limb.lower ? rig.at(limb.lower) : rig.tip(limb)
  if (which === 'upper' || !limb.lower) return direction(subtract(elbow, rig.at(limb.upper)))
  return direction(subtract(rig.tip(limb), elbow))
}

/** Pairs the collar bones if both rigs have one. */
function collarPairs([model, arm]: [Humanoid, Limb], [source, other]: [Humanoid, Limb]): Pair[] {
  const [node, from] = [collarOf(model, arm), collarOf(source, other)]
  return node && from ? [{ node, from: [from], part: 0, aligned: IDENTITY }] : []
}

function collarOf({ hips, spine }: Humanoid, { upper }: Limb): Node | null {
  const parent = upper.getParentNode()
  return parent && parent !== hips && !spine.includes(parent) ? parent : null
}

/**
 * The translation of the hips: the same as in the clip, in units of leg length. While the feet carry the body, the
 * lower foot is as high above the ground as in the clip, although these legs bend differently.
 */
function hipsShift(
  pose: ClipPose,
  { to, from, turn, world }: { to: Skeleton; from: Skeleton; turn: Quaternion; world: Map<Node, Quaternion> },
): Vector {
  const { hips } = from.bones
  const gone = subtract(pose.of(hips).position, from.at(hips))
  const moved = scale(rotate(turn, gone), to.leg / from.leg)
  const height = (from.height(hips) - from.ground + dot(gone, from.up)) / from.leg
  const lift = liftOf(pose, from) / from.leg
  const carried = ramp(height, 0.5, 0.7) * ramp(lift, 0.2, 0.08)
  const missing = lift * to.leg - to.liftIn(world) - dot(moved, to.up)
  return add(moved, scale(to.up, carried * missing))
}

/** Returns the height of the lower ankle above its height at rest, in the clip. */
function liftOf(pose: ClipPose, from: Skeleton): number {
  return Math.min(
    ...SIDES.map((side) => {
      const limb = from.bones.legs[side]
      const last = limb.end ?? limb.lower ?? limb.upper
      const { rotation, position } = pose.of(last)
      const offset = rotate(
        multiply(rotation, invert(from.place(last).rotation)),
        subtract(from.tip(limb), from.at(last)),
      )
      return dot(add(position, offset), from.up) - from.ankles[side]
    }),
  )
}

/** Rises linearly from 0 at `zero` to 1 at `one`. */
const ramp = (value: number, zero: number, one: number): number =>
  Math.min(1, Math.max(0, (value - zero) / (one - zero)))

/** Copies optional bones of a humanoid (fingers, toes, held items) by name, if their rest poses are alike. */
function copyDetails(
  frames: Frames,
  clip: SampledClip,
  { document, library, known }: { document: Document; library: Document; known: ReadonlySet<Node> },
): void {
  const named = new Map([...jointsOf(library)].map((node) => [keyOf(node), node]))
  for (const node of jointsOf(document)) {
    const source = known.has(node) ? undefined : named.get(keyOf(node))
    if (!source || !clip.turns(source)) continue
    const [rest, other] = [node.getRotation(), source.getRotation()] as [Quaternion, Quaternion]
    if (angleBetween(rest, other) > ALIKE) continue
    copyTurns(frames, clip, { node, source })
  }
}

const keyOf = (node: Node): string => {
  const { side, base } = readName(node.getName())
  return `${side} ${base}`
}

/** Copies a clip to a rig of any kind by bone names. @returns whether enough bones match */
function copyByName(frames: Frames, clip: SampledClip, document: Document): boolean {
  const nodes = new Map([...document.getRoot().listNodes()].map((node) => [node.getName(), node]))
  const pairs = clip.nodes.flatMap((source) => {
    const node = source.getName() ? nodes.get(source.getName()) : undefined
    return node ? [{ node, source }] : []
  })
  if (pairs.length === 0 || pairs.length < clip.nodes.length * ENOUGH) return false
  for (const pair of pairs) {
    if (clip.turns(pair.source)) copyTurns(frames, clip, pair)
    if (clip.moves(pair.source)) copyMoves(frames, clip, pair)
  }
  return true
}

function copyTurns(frames: Frames, clip: SampledClip, { node, source }: { node: Node; source: Node }): void {
  const rest = multiply(node.getRotation() as Quaternion, invert(source.getRotation() as Quaternion))
  for (const [frame, seconds] of frames.times.entries()) {
    const value = multiply(rest, clip.rotation(source, seconds))
    putRotation(frames.rotations, node, { frame, frames: frames.times.length, value })
  }
}

function copyMoves(frames: Frames, clip: SampledClip, { node, source }: { node: Node; source: Node }): void {
  const [rest, other] = [node.getTranslation(), source.getTranslation()] as [Vector, Vector]
  const size = length(other) > 1e-6 ? length(rest) / length(other) : 1
  for (const [frame, seconds] of frames.times.entries()) {
    const value = add(rest, scale(subtract(clip.translation(source, seconds), other), size))
    putTranslation(frames.translations, node, { frame, frames: frames.times.length, value })
  }
}

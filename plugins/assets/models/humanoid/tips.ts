import type { Node, Primitive, Skin } from '@gltf-transform/core'
import type { Limb } from './bones.ts'
import { add, direction, dot, length, scale, subtract, transform, type Vector } from './math.ts'

/** The minimum weight of the bone to which a vertex belongs. */
const OWN = 0.5
/** A child nearer than this fraction of the parent bone's length is a helper, not its end. */
const NEAR = 0.3

/**
 * The end of the last bone of a limb without foot or hand, at rest, in world space: where its skin ends, else its
 * farthest child joint, else as far away as it is from the bone before it.
 *
 * @param at position of a node at rest
 * @returns null when none of these is known
 */
export function tipOf({ upper, lower }: Limb, at: (node: Node) => Vector): Vector | null {
  const bone = lower ?? upper
  const head = at(bone)
  const end = endOfSkin(bone, head)
  if (end) return end
  const step = lower ? subtract(head, at(upper)) : null
  const ends = bone.listChildren().map((child) => subtract(at(child), head))
  const farthest = ends.toSorted((a, b) => length(b) - length(a))[0]
  if (farthest && length(farthest) > NEAR * length(step ?? farthest)) return add(head, farthest)
  return step && add(head, step)
}

/** Returns the end of the vertices that mostly follow a bone, in the direction of most of them. */
function endOfSkin(bone: Node, head: Vector): Vector | null {
  const offsets = [...verticesOf(bone)].map((vertex) => subtract(vertex, head))
  if (offsets.length === 0) return null
  const middle = offsets.reduce((sum, offset) => add(sum, scale(offset, 1 / offsets.length)), [0, 0, 0] as Vector)
  const along = direction(middle)
  return along && add(head, scale(along, Math.max(...offsets.map((offset) => dot(offset, along)))))
}

function* verticesOf(bone: Node): Generator<Vector> {
  for (const skin of bone.listParents().filter((parent): parent is Skin => parent.propertyType === 'Skin')) {
    const joint = skin.listJoints().indexOf(bone)
    const inverse = skin.getInverseBindMatrices()?.getElement(joint, [] as number[])
    const users = skin.listParents().filter((parent): parent is Node => parent.propertyType === 'Node')
    const primitives = new Set(users.flatMap((node) => node.getMesh()?.listPrimitives() ?? []))
    for (const primitive of primitives) {
      for (const vertex of followersOf(joint, primitive)) {
        yield transform(bone.getWorldMatrix(), inverse ? transform(inverse, vertex) : vertex)
      }
    }
  }
}

/** Yields the vertices of a primitive that mostly follow a joint, as they are stored. */
function* followersOf(joint: number, primitive: Primitive): Generator<Vector> {
  const [position, joints, weights] = ['POSITION', 'JOINTS_0', 'WEIGHTS_0'].map((name) => primitive.getAttribute(name))
  if (!position || !joints || !weights) return
  const [four, shares]: [number[], number[]] = [[], []]
  for (let index = 0; index < position.getCount(); index++) {
    joints.getElement(index, four)
    weights.getElement(index, shares)
    const share = four.reduce((sum, each, slot) => (each === joint ? sum + (shares[slot] ?? 0) : sum), 0)
    if (share >= OWN) yield position.getElement(index, [0, 0, 0] as Vector)
  }
}

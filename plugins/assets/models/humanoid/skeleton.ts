import type { Node } from '@gltf-transform/core'
import { type Humanoid, type Limb, lastOf, SIDES, type Side } from './bones.ts'
import {
  add,
  cross,
  direction,
  dot,
  fromAxes,
  IDENTITY,
  invert,
  length,
  multiply,
  normalize,
  type Quaternion,
  rotate,
  scale,
  subtract,
  type Vector,
} from './math.ts'
import { tipOf } from './tips.ts'

/** Where a node is in the world. */
export interface Place {
  rotation: Quaternion
  position: Vector
  /** Of the node and all above it; joints are scaled alike in every direction. */
  scale: number
}

/** Turns of nodes in the world; what is not in it hangs on its parent as at rest. */
export type Turns = ReadonlyMap<Node, Quaternion>

/** A humanoid rig at rest: which way it looks, how tall it is, and where its nodes come to be when some are turned. */
export class Skeleton {
  readonly bones: Humanoid
  readonly left: Vector
  readonly up: Vector
  readonly forward: Vector
  /** From x, y and z to its left, up and forward. */
  readonly frame: Quaternion
  /** Length of a leg. */
  readonly leg: number
  /** Height of each ankle at rest: what it is above the ground when the sole stands on it. */
  readonly ankles: Record<Side, number>
  readonly ground: number
  readonly #rest = new Map<Node, Place>()
  readonly #tips = new Map<Limb, Vector>()

  constructor(bones: Humanoid) {
    this.bones = bones
    const { legs, hips } = bones
    const across = subtract(this.at(legs.left.upper), this.at(legs.right.upper))
    const chest = bones.spine.at(-1) ?? hips
    const rise = subtract(this.at(chest), scale(add(this.tip(legs.left), this.tip(legs.right)), 0.5))
    this.up = axisNearest(rise)
    this.left = direction(subtract(across, scale(this.up, dot(across, this.up)))) ?? [1, 0, 0]
    this.forward = cross(this.left, this.up)
    this.frame = fromAxes(this.left, this.up)
    const ankle = (side: Side) => dot(this.tip(legs[side]), this.up)
    this.ankles = { left: ankle('left'), right: ankle('right') }
    this.ground = Math.min(this.ankles.left, this.ankles.right)
    this.leg = Math.max(this.height(hips), this.height(legs.left.upper)) - this.ground || 1
  }

  place(node: Node): Place {
    const known = this.#rest.get(node)
    if (known) return known
    const parent = node.getParentNode()
    const above = parent ? this.place(parent) : { rotation: IDENTITY, position: [0, 0, 0] as Vector, scale: 1 }
    const place = {
      rotation: normalize(multiply(above.rotation, node.getRotation() as Quaternion)),
      position: add(above.position, rotate(above.rotation, scale(node.getTranslation() as Vector, above.scale))),
      scale: above.scale * (length(node.getScale() as Vector) / Math.sqrt(3)),
    }
    this.#rest.set(node, place)
    return place
  }

  at(node: Node): Vector {
    return this.place(node).position
  }

  height(node: Node): number {
    return dot(this.at(node), this.up)
  }

  /** Where a limb ends at rest: the joint of its foot or hand, or, without one, the end of its last bone. */
  tip(limb: Limb): Vector {
    if (limb.end) return this.at(limb.end)
    const known = this.#tips.get(limb) ?? tipOf(limb, (node) => this.at(node)) ?? this.#guess(limb)
    this.#tips.set(limb, known)
    return known
  }

  /** Of a limb of one bone, without a skin that would show it: a leg reaches the floor, an arm is spread. */
  #guess(limb: Limb): Vector {
    const { legs, hips, spine } = this.bones
    const [x, y, z] = this.at(limb.upper)
    if (legs.left === limb || legs.right === limb) return [x, y > 0 ? 0 : y - 1, z]
    const [across, , along] = subtract([x, y, z], this.at(spine.at(-1) ?? hips))
    return add([x, y, z], scale([across, 0, along], 2))
  }

  /** Where that comes to be. */
  tipIn(limb: Limb, world: Turns): Vector {
    if (limb.end) return this.positionIn(limb.end, world)
    const last = lastOf(limb)
    const turned = multiply(this.rotationIn(last, world), invert(this.place(last).rotation))
    return add(this.positionIn(last, world), rotate(turned, subtract(this.tip(limb), this.at(last))))
  }

  /** Where a node comes to be when nodes are turned and the hips stay where they rest. */
  positionIn(node: Node, world: Turns): Vector {
    const parent = node.getParentNode()
    if (!parent || node === this.bones.hips) return this.at(node)
    const offset = scale(node.getTranslation() as Vector, this.place(parent).scale)
    return add(this.positionIn(parent, world), rotate(this.rotationIn(parent, world), offset))
  }

  rotationIn(node: Node, world: Turns): Quaternion {
    return world.get(node) ?? multiply(this.rotationAbove(node, world), node.getRotation() as Quaternion)
  }

  rotationAbove(node: Node, world: Turns): Quaternion {
    const parent = node.getParentNode()
    return parent ? this.rotationIn(parent, world) : IDENTITY
  }

  /** The lower ankle above its height at rest. */
  liftIn(world: Turns): number {
    const { legs } = this.bones
    return Math.min(...SIDES.map((side) => dot(this.tipIn(legs[side], world), this.up) - this.ankles[side]))
  }

  /** A pose in terms of a file: turns in each parent's frame, and where the hips are when they moved so far. */
  localPose(world: Turns, moved: Vector): Posed {
    const { hips } = this.bones
    const parent = hips.getParentNode()
    const above = parent ? this.place(parent) : { rotation: IDENTITY, scale: 1 }
    const shift = scale(rotate(invert(above.rotation), moved), 1 / above.scale)
    const rotations = new Map<Node, Quaternion>()
    for (const [node, rotation] of world) {
      rotations.set(node, normalize(multiply(invert(this.rotationAbove(node, world)), rotation)))
    }
    return { rotations, hips: add(hips.getTranslation() as Vector, shift) }
  }
}

/** The rotations that put a rig into a pose, each in its parent's frame, and where the hips then are. */
export interface Posed {
  rotations: Map<Node, Quaternion>
  hips: Vector
}

/** Up is an axis of the world: a rig that rests bent forwards still stands on the ground. */
function axisNearest(v: Vector): Vector {
  const sizes = v.map(Math.abs)
  const axis = sizes.indexOf(Math.max(...sizes))
  const made: Vector = [0, 0, 0]
  made[axis] = Math.sign(v[axis] as number) || 1
  return made
}

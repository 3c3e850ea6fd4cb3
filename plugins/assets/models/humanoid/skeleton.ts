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

/** The pose of a node in world space. */
export interface Place {
  rotation: Quaternion
  position: Vector
  /** The scale of the node and its ancestors. Joints are scaled uniformly. */
  scale: number
}

/** World rotations of nodes. Nodes that it omits keep their rest pose relative to the parent. */
export type Turns = ReadonlyMap<Node, Quaternion>

/** A humanoid rig at rest: its facing direction, its height, and the positions of its nodes after rotations. */
export class Skeleton {
  readonly bones: Humanoid
  readonly left: Vector
  readonly up: Vector
  readonly forward: Vector
  /** The rotation that maps x, y and z to the rig's left, up and forward. */
  readonly frame: Quaternion
  /** The length of a leg. */
  readonly leg: number
  /** The height of each ankle at rest, which is its height above the ground when the sole stands on it. */
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

  /** Returns the end of a limb at rest: the joint of its foot or hand or, without one, the end of its last bone. */
  tip(limb: Limb): Vector {
    if (limb.end) return this.at(limb.end)
    const known = this.#tips.get(limb) ?? tipOf(limb, (node) => this.at(node)) ?? this.#guess(limb)
    this.#tips.set(limb, known)
    return known
  }

  /** Estimates the tip of a limb of one bone without a skin: a leg reaches the floor, an arm is spread. */
  #guess(limb: Limb): Vector {
    const { legs, hips, spine } = this.bones
    const [x, y, z] = this.at(limb.upper)
    if (legs.left === limb || legs.right === limb) return [x, y > 0 ? 0 : y - 1, z]
    const [across, , along] = subtract([x, y, z], this.at(spine.at(-1) ?? hips))
    return add([x, y, z], scale([across, 0, along], 2))
  }

  /** Returns the position of the tip in a pose. */
  tipIn(limb: Limb, world: Turns): Vector {
    if (limb.end) return this.positionIn(limb.end, world)
    const last = lastOf(limb)
    const turned = multiply(this.rotationIn(last, world), invert(this.place(last).rotation))
    return add(this.positionIn(last, world), rotate(turned, subtract(this.tip(limb), this.at(last))))
  }

  /** Returns the position of a node in a pose in which the hips stay at rest. */
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

  /** Returns the height of the lower ankle above its height at rest. */
  liftIn(world: Turns): number {
    const { legs } = this.bones
    return Math.min(...SIDES.map((side) => dot(this.tipIn(legs[side], world), this.up) - this.ankles[side]))
  }

  /** Converts a pose to the form of a file: rotations in each parent's frame, and the position of the moved hips. */
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

/** The rotations of a pose, each in its parent's frame, and the position of the hips. */
export interface Posed {
  rotations: Map<Node, Quaternion>
  hips: Vector
}

/** Up is an axis of the world, so that a rig with a bent rest pose still stands on the ground. */
function axisNearest(v: Vector): Vector {
  const sizes = v.map(Math.abs)
  const axis = sizes.indexOf(Math.max(...sizes))
  const made: Vector = [0, 0, 0]
  made[axis] = Math.sign(v[axis] as number) || 1
  return made
}

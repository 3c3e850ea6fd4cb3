import type { Node } from '@gltf-transform/core'
import { type Humanoid, type Limb, SIDES, type Side } from './bones.ts'
import {
  about,
  add,
  arc,
  cross,
  direction,
  dot,
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
import type { ArmPose, LegPose, Pose, Turn } from './presets.ts'

/** Where a node is in the world. */
interface Place {
  rotation: Quaternion
  position: Vector
  /** Of the node and all above it; joints are scaled alike in every direction. */
  scale: number
}

/** The rotations that put a rig into a pose, each in its parent's frame, and where the hips then are. */
export interface Posed {
  rotations: Map<Node, Quaternion>
  hips: Vector
}

/**
 * Puts a humanoid rig into poses. Everything is worked out in the world, from the rest pose: a bone's turn there is put
 * before its rest rotation and then brought into its parent's frame. So it does not matter how a rig's bones are rolled
 * or which pose it rests in; and since only rotations change, but for the place of the hips, bones keep their lengths.
 */
export class Rig {
  readonly #bones: Humanoid
  readonly #rest = new Map<Node, Place>()
  readonly #left: Vector
  readonly #up: Vector
  readonly #forward: Vector
  readonly #leg: number
  /** Height of each ankle at rest: what it is above the ground when the sole stands on it. */
  readonly #ankles: Record<Side, number>
  readonly #ground: number

  constructor(bones: Humanoid) {
    this.#bones = bones
    const { legs, hips } = bones
    const across = subtract(this.#at(legs.left.upper), this.#at(legs.right.upper))
    const chest = bones.spine.at(-1) ?? hips
    const rise = subtract(this.#at(chest), scale(add(this.#at(legs.left.end), this.#at(legs.right.end)), 0.5))
    this.#up = axisNearest(rise)
    this.#left = direction(subtract(across, scale(this.#up, dot(across, this.#up)))) ?? [1, 0, 0]
    this.#forward = cross(this.#left, this.#up)
    this.#ankles = { left: this.#height(legs.left.end), right: this.#height(legs.right.end) }
    this.#ground = Math.min(this.#ankles.left, this.#ankles.right)
    this.#leg = this.#height(hips) - this.#ground || 1
  }

  /** Every node that a pose turns. */
  get animated(): Node[] {
    const { hips, spine, neck, legs, arms } = this.#bones
    const limbs = SIDES.flatMap((side) => [
      ...[legs[side].upper, legs[side].lower, legs[side].end],
      ...[arms[side].upper, arms[side].lower],
    ])
    return [hips, ...spine, ...neck, ...limbs]
  }

  pose(pose: Pose): Posed {
    const { hips, spine, neck, legs, arms } = this.#bones
    const world = new Map<Node, Quaternion>()
    const body = this.#turn(pose.body)
    const pelvis = multiply(body, this.#turn(pose.hips))
    const put = (node: Node, turn: Quaternion) => void world.set(node, multiply(turn, this.#place(node).rotation))
    put(hips, pelvis)
    for (const [index, node] of spine.entries()) {
      put(node, multiply(pelvis, this.#turn(pose.chest, (index + 1) / spine.length)))
    }
    const chest = spine.length > 0 ? multiply(pelvis, this.#turn(pose.chest)) : pelvis
    for (const [index, node] of neck.entries()) {
      put(node, multiply(chest, this.#turn(pose.head, (index + 1) / neck.length)))
    }
    for (const side of SIDES) {
      this.#poseArm(arms[side], side, { pose: pose.arms[side], frame: chest, world })
      this.#poseLeg(legs[side], side, { pose: pose.legs?.[side] ?? {}, frame: body, world })
    }
    const moved = this.#stand(pose, world)
    this.#pointFeet(pose, { body, world, moved })
    const parent = hips.getParentNode()
    const above = parent ? this.#place(parent) : { rotation: IDENTITY, scale: 1 }
    const shift = scale(rotate(invert(above.rotation), moved), 1 / above.scale)
    const rotations = new Map<Node, Quaternion>()
    for (const [node, rotation] of world) {
      rotations.set(node, normalize(multiply(invert(this.#rotationAbove(node, world)), rotation)))
    }
    return { rotations, hips: add(hips.getTranslation() as Vector, shift) }
  }

  /** Brings an arm from wherever it rests into its direction, by the shortest way, so that it is not wrung. */
  #poseArm(arm: Limb, side: Side, { pose, frame, world }: Into<ArmPose>): void {
    const [shoulder, elbow, wrist] = [arm.upper, arm.lower, arm.end].map((node) => this.#at(node)) as Vector[]
    const upper = direction(subtract(elbow as Vector, shoulder as Vector))
    const lower = direction(subtract(wrist as Vector, elbow as Vector))
    if (!upper || !lower) return
    const first = arc(upper, this.#armDirection(pose.upper, side))
    const second = multiply(arc(rotate(first, lower), this.#armDirection(pose.lower, side)), first)
    world.set(arm.upper, multiply(multiply(frame, first), this.#place(arm.upper).rotation))
    world.set(arm.lower, multiply(multiply(frame, second), this.#place(arm.lower).rotation))
  }

  #armDirection({ out, forward }: ArmPose['upper'], side: Side): Vector {
    const sideways = scale(this.#left, (side === 'left' ? 1 : -1) * Math.sin(out))
    const down = scale(this.#up, -Math.cos(out) * Math.cos(forward))
    // A raised arm still goes forwards.
    const ahead = scale(this.#forward, Math.abs(Math.cos(out)) * Math.sin(forward))
    return direction(add(add(sideways, down), ahead)) ?? scale(this.#up, -1)
  }

  #poseLeg(leg: Limb, side: Side, { pose, frame, world }: Into<LegPose>): void {
    const { swing = 0, spread = 0, knee = 0 } = pose
    const apart = about(this.#forward, (side === 'left' ? 1 : -1) * spread)
    const thigh = multiply(about(this.#left, -swing), apart)
    const shin = multiply(about(this.#left, knee - swing), apart)
    world.set(leg.upper, multiply(multiply(frame, thigh), this.#place(leg.upper).rotation))
    world.set(leg.lower, multiply(multiply(frame, shin), this.#place(leg.lower).rotation))
    // Soles stay level with the ground.
    world.set(leg.end, multiply(frame, this.#place(leg.end).rotation))
  }

  /** Where the hips move so that the lower foot stands on the ground, or is as far above it as the pose says. */
  #stand(pose: Pose, world: ReadonlyMap<Node, Quaternion>): Vector {
    const { legs, hips } = this.#bones
    const drop = Math.min(
      ...SIDES.map((side) => dot(this.#positionIn(legs[side].end, world), this.#up) - this.#ankles[side]),
    )
    const onFeet = -drop + (pose.lift ?? 0) * this.#leg
    const { height = 0, weight = 0 } = pose.rest ?? {}
    const lying = this.#ground + height * this.#leg - this.#height(hips)
    const { side = 0, forward = 0 } = pose.shift ?? {}
    const level = add(scale(this.#left, side * this.#leg), scale(this.#forward, forward * this.#leg))
    const rise = onFeet * (1 - weight) + lying * weight
    return add(level, scale(this.#up, weight > 0 ? Math.max(rise, this.#clearance(world)) : rise))
  }

  /** How far the hips have to rise, so that a body that falls does not sink into the ground. */
  #clearance(world: ReadonlyMap<Node, Quaternion>): number {
    const { hips, spine, neck, legs, arms } = this.#bones
    const limbs = SIDES.flatMap((side) => [legs[side].lower, legs[side].end, arms[side].lower, arms[side].end])
    const trunk = [hips, ...spine, ...neck]
    const missing = (nodes: readonly Node[], thickness: number) =>
      nodes.map((node) => this.#ground + thickness * this.#leg - dot(this.#positionIn(node, world), this.#up))
    return Math.max(...missing(trunk, 0.1), ...missing(limbs, 0.04))
  }

  /** Lets toes hang, as far as the foot is off the ground: never through it. */
  #pointFeet(
    pose: Pose,
    { body, world, moved }: { body: Quaternion; world: Map<Node, Quaternion>; moved: Vector },
  ): void {
    for (const side of SIDES) {
      const wanted = pose.legs?.[side]?.point ?? 0
      if (wanted <= 0) continue
      const { end } = this.#bones.legs[side]
      const above = dot(add(this.#positionIn(end, world), moved), this.#up) - this.#ankles[side]
      // A foot is a quarter of a leg long, and a little more to be sure.
      const most = Math.asin(Math.min(1, Math.max(0, above / (0.32 * this.#leg))))
      const turn = multiply(body, about(this.#left, Math.min(wanted, most)))
      world.set(end, multiply(turn, this.#place(end).rotation))
    }
  }

  /** @param part of the turn, from 0 to 1 */
  #turn({ lean = 0, turn = 0, tilt = 0 }: Turn = {}, part = 1): Quaternion {
    const sideways = about(this.#forward, tilt * part)
    return multiply(about(this.#up, turn * part), multiply(about(this.#left, lean * part), sideways))
  }

  #rotationAbove(node: Node, world: ReadonlyMap<Node, Quaternion>): Quaternion {
    const parent = node.getParentNode()
    if (!parent) return IDENTITY
    const known = world.get(parent)
    return known ?? multiply(this.#rotationAbove(parent, world), parent.getRotation() as Quaternion)
  }

  /** Where a node comes to be when its ancestors are turned and the hips stay where they rest. */
  #positionIn(node: Node, world: ReadonlyMap<Node, Quaternion>): Vector {
    const parent = node.getParentNode()
    if (!parent || node === this.#bones.hips) return this.#at(node)
    const rotation =
      world.get(parent) ?? multiply(this.#rotationAbove(parent, world), parent.getRotation() as Quaternion)
    const offset = scale(node.getTranslation() as Vector, this.#place(parent).scale)
    return add(this.#positionIn(parent, world), rotate(rotation, offset))
  }

  #at(node: Node): Vector {
    return this.#place(node).position
  }

  #height(node: Node): number {
    return dot(this.#at(node), this.#up)
  }

  #place(node: Node): Place {
    const known = this.#rest.get(node)
    if (known) return known
    const parent = node.getParentNode()
    const above = parent ? this.#place(parent) : { rotation: IDENTITY, position: [0, 0, 0] as Vector, scale: 1 }
    const place = {
      rotation: normalize(multiply(above.rotation, node.getRotation() as Quaternion)),
      position: add(above.position, rotate(above.rotation, scale(node.getTranslation() as Vector, above.scale))),
      scale: above.scale * (length(node.getScale() as Vector) / Math.sqrt(3)),
    }
    this.#rest.set(node, place)
    return place
  }
}

interface Into<Part> {
  pose: Part
  frame: Quaternion
  world: Map<Node, Quaternion>
}

/** Up is an axis of the world: a rig that rests bent forwards still stands on the ground. */
function axisNearest(v: Vector): Vector {
  const sizes = v.map(Math.abs)
  const axis = sizes.indexOf(Math.max(...sizes))
  const made: Vector = [0, 0, 0]
  made[axis] = Math.sign(v[axis] as number) || 1
  return made
}

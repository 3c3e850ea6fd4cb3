import type { Node } from '@gltf-transform/core'
import { type Humanoid, type Limb, SIDES, type Side } from './bones.ts'
import {
  about,
  add,
  arc,
  direction,
  dot,
  multiply,
  type Quaternion,
  rotate,
  scale,
  subtract,
  type Vector,
} from './math.ts'
import type { ArmPose, LegPose, Pose, Turn } from './presets.ts'
import type { Posed, Skeleton, Turns } from './skeleton.ts'

/**
 * Poses a humanoid rig. All rotations are computed in world space from the rest pose: a bone's rotation is applied
 * before its rest rotation and then converted to its parent's frame. The roll of bones and the rest pose therefore do
 * not matter. Only rotations change, apart from the position of the hips, so bones keep their lengths.
 */
export class Rig {
  readonly #rest: Skeleton
  readonly #bones: Humanoid

  constructor(rest: Skeleton) {
    this.#rest = rest
    this.#bones = rest.bones
  }

  pose(pose: Pose): Posed {
    const { hips, spine, neck, legs, arms } = this.#bones
    const world = new Map<Node, Quaternion>()
    const body = this.#turn(pose.body)
    const pelvis = multiply(body, this.#turn(pose.hips))
    const put = (node: Node, turn: Quaternion) => void world.set(node, multiply(turn, this.#rest.place(node).rotation))
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
    return this.#rest.localPose(world, moved)
  }

  /** Rotates an arm from its rest pose to its direction on the shortest arc, which avoids twists. */
  #poseArm(arm: Limb, side: Side, { pose, frame, world }: Into<ArmPose>): void {
    const { upper, lower } = arm
    const [shoulder, tip] = [this.#rest.at(upper), this.#rest.tip(arm)]
    const [aim, aimBelow] = [this.#armDirection(pose.upper, side), this.#armDirection(pose.lower, side)]
    const elbow = lower ? this.#rest.at(lower) : tip
    const along = direction(subtract(elbow, shoulder))
    const alongBelow = direction(subtract(tip, elbow))
    if (!along || (lower && !alongBelow)) return
    // An arm of one bone points to the position of the hand.
    const first = arc(along, lower ? aim : (direction(add(aim, aimBelow)) ?? aim))
    world.set(upper, multiply(multiply(frame, first), this.#rest.place(upper).rotation))
    if (!lower || !alongBelow) return
    const second = multiply(arc(rotate(first, alongBelow), aimBelow), first)
    world.set(lower, multiply(multiply(frame, second), this.#rest.place(lower).rotation))
  }

  #armDirection({ out, forward }: ArmPose['upper'], side: Side): Vector {
    const sideways = scale(this.#rest.left, (side === 'left' ? 1 : -1) * Math.sin(out))
    const down = scale(this.#rest.up, -Math.cos(out) * Math.cos(forward))
    // A raised arm can still point forwards.
    const ahead = scale(this.#rest.forward, Math.abs(Math.cos(out)) * Math.sin(forward))
    return direction(add(add(sideways, down), ahead)) ?? scale(this.#rest.up, -1)
  }

  #poseLeg(leg: Limb, side: Side, { pose, frame, world }: Into<LegPose>): void {
    const { swing = 0, spread = 0, knee = 0 } = pose
    const apart = about(this.#rest.forward, (side === 'left' ? 1 : -1) * spread)
    const thigh = multiply(about(this.#rest.left, -swing), apart)
    const shin = multiply(about(this.#rest.left, knee - swing), apart)
    world.set(leg.upper, multiply(multiply(frame, thigh), this.#rest.place(leg.upper).rotation))
    if (leg.lower) world.set(leg.lower, multiply(multiply(frame, shin), this.#rest.place(leg.lower).rotation))
    // Soles stay level with the ground.
    if (leg.end) world.set(leg.end, multiply(frame, this.#rest.place(leg.end).rotation))
  }

  /** Returns the hip movement that puts the lower foot on the ground, or at the height that the pose defines. */
  #stand(pose: Pose, world: Turns): Vector {
    const { leg, left, up, forward, ground } = this.#rest
    const onFeet = -this.#rest.liftIn(world) + (pose.lift ?? 0) * leg
    const { height = 0, weight = 0 } = pose.rest ?? {}
    const lying = ground + height * leg - this.#rest.height(this.#bones.hips)
    const shift = pose.shift ?? {}
    const level = add(scale(left, (shift.side ?? 0) * leg), scale(forward, (shift.forward ?? 0) * leg))
    const rise = onFeet * (1 - weight) + lying * weight
    return add(level, scale(up, weight > 0 ? Math.max(rise, this.#clearance(world)) : rise))
  }

  /** Returns the height by which the hips must rise, so that a falling body does not sink into the ground. */
  #clearance(world: Turns): number {
    const { hips, spine, neck, legs, arms } = this.#bones
    const { ground, leg, up } = this.#rest
    const limbs = SIDES.flatMap((side) => [legs[side], arms[side]])
    const trunk = [hips, ...spine, ...neck].map((node) => this.#rest.positionIn(node, world))
    const ends = limbs.flatMap((limb) => [
      this.#rest.tipIn(limb, world),
      ...(limb.lower ? [this.#rest.positionIn(limb.lower, world)] : []),
    ])
    const missing = (places: readonly Vector[], thickness: number) =>
      places.map((place) => ground + thickness * leg - dot(place, up))
    return Math.max(...missing(trunk, 0.1), ...missing(ends, 0.04))
  }

  /** Points the toes down, limited by the foot's height, so that they never pass through the ground. */
  #pointFeet(
    pose: Pose,
    { body, world, moved }: { body: Quaternion; world: Map<Node, Quaternion>; moved: Vector },
  ): void {
    for (const side of SIDES) {
      const wanted = pose.legs?.[side]?.point ?? 0
      const { end } = this.#bones.legs[side]
      if (wanted <= 0 || !end) continue
      const above = dot(add(this.#rest.positionIn(end, world), moved), this.#rest.up) - this.#rest.ankles[side]
      // A foot is a quarter of a leg long; the factor adds a margin.
      const most = Math.asin(Math.min(1, Math.max(0, above / (0.32 * this.#rest.leg))))
      const turn = multiply(body, about(this.#rest.left, Math.min(wanted, most)))
      world.set(end, multiply(turn, this.#rest.place(end).rotation))
    }
  }

  /** @param part the fraction of the rotation, from 0 to 1 */
  #turn({ lean = 0, turn = 0, tilt = 0 }: Turn = {}, part = 1): Quaternion {
    const sideways = about(this.#rest.forward, tilt * part)
    return multiply(about(this.#rest.up, turn * part), multiply(about(this.#rest.left, lean * part), sideways))
  }
}

interface Into<Part> {
  pose: Part
  frame: Quaternion
  world: Map<Node, Quaternion>
}

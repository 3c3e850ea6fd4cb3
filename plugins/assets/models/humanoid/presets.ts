import type { Side } from './bones.ts'

/**
 * A pose of a humanoid, in angles (radians) of its own frame, the same for every rig whatever its rest pose. Rotations
 * of the trunk: `lean` forwards, `turn` to its left, `tilt` to its right side.
 */
export interface Pose {
  /** The rotation of the whole body about the hips, as in falling. */
  body?: Turn
  hips?: Turn
  /** Relative to the hips, distributed over the spine. */
  chest?: Turn
  /** Relative to the chest. */
  head?: Turn
  legs?: Partial<Record<Side, LegPose>>
  arms: Record<Side, ArmPose>
  /** The movement of the hips, in leg lengths. */
  shift?: { side?: number; forward?: number }
  /** The height of the lowest foot above the ground, in leg lengths. */
  lift?: number
  /** The height of the hips in leg lengths while the feet do not carry the body, and its weight. */
  rest?: { height: number; weight: number }
}

export interface Turn {
  lean?: number
  turn?: number
  tilt?: number
}

export interface LegPose {
  /** Rotation of the thigh forwards. */
  swing?: number
  /** Rotation away from the other leg. */
  spread?: number
  /** Flexion of the knee. */
  knee?: number
  /** Rotation of the toes down, limited by the foot's height above the ground. */
  point?: number
}

/**
 * Directions of upper arm and forearm: `out` from hanging (0) sideways to above the head (π), `forward` in addition.
 */
export interface ArmPose {
  upper: { out: number; forward: number }
  lower: { out: number; forward: number }
}

export interface Preset {
  seconds: number
  /** @param phase from 0 to 1; in a loop, 1 equals 0 */
  pose(phase: number): Pose
}

const TURN = 2 * Math.PI
const wave = (phase: number, shift = 0) => Math.sin(TURN * (phase + shift))
const degrees = (angle: number) => (angle * Math.PI) / 180
/** Eases from 0 to 1 while `at` goes from `from` to `to`, slow at both ends. */
const ease = (at: number, from: number, to: number) => {
  const part = Math.min(1, Math.max(0, (at - from) / (to - from)))
  return part * part * (3 - 2 * part)
}
const mix = (a: number, b: number, part: number) => a + (b - a) * part
const arm = (upper: [out: number, forward: number], lower: [out: number, forward: number]): ArmPose => ({
  upper: { out: degrees(upper[0]), forward: degrees(upper[1]) },
  lower: { out: degrees(lower[0]), forward: degrees(lower[1]) },
})
const mixArm = (a: ArmPose, b: ArmPose, part: number): ArmPose => {
  const between = (x: ArmPose['upper'], y: ArmPose['upper']) => ({
    out: mix(x.out, y.out, part),
    forward: mix(x.forward, y.forward, part),
  })
  return { upper: between(a.upper, b.upper), lower: between(a.lower, b.lower) }
}

const HANGING = arm([12, 0], [8, 10])

const idle: Preset = {
  seconds: 4,
  pose(phase) {
    const breath = wave(phase)
    const sway = wave(phase, 0.2)
    const hanging = (side: number) => arm([12 + breath * 1.2, 1 + side * sway], [8 + breath, 11 + breath * 1.5])
    const knee = degrees(3 + breath * 1.5)
    return {
      hips: { turn: degrees(1.2) * sway },
      chest: { lean: degrees(1 + 1.4 * breath), turn: degrees(-0.8) * sway },
      head: { lean: degrees(-1) * breath, turn: degrees(4) * wave(phase, 0.1) },
      legs: { left: { swing: knee / 2, knee }, right: { swing: knee / 2, knee } },
      arms: { left: hanging(1), right: hanging(-1) },
    }
  },
}

/** Returns a leg in a stride: it moves back on the ground, then forwards through the air with a bent knee. */
function stride(phase: number, { reach, lift, standing }: { reach: number; lift: number; standing: number }): LegPose {
  const swing = degrees(reach) * Math.cos(TURN * phase)
  // The second half of the cycle is the movement forwards through the air.
  const flying = phase > 0.5 ? -wave(phase) : 0
  return {
    swing: swing + degrees(lift * 0.35) * flying,
    knee: degrees(standing + lift * flying),
    point: degrees(25) * flying,
  }
}

function gait(phase: number, size: { reach: number; lift: number; standing: number; arms: number; bend: number }) {
  const { arms, bend } = size
  const swing = (at: number) => {
    const forward = -arms * Math.cos(TURN * at)
    return arm([10, forward], [6, forward + bend + Math.max(0, forward) * 0.4])
  }
  return {
    legs: { left: stride(phase % 1, size), right: stride((phase + 0.5) % 1, size) },
    arms: { left: swing(phase), right: swing(phase + 0.5) },
  }
}

const walk: Preset = {
  seconds: 1.1,
  pose(phase) {
    const turn = Math.cos(TURN * phase)
    return {
      hips: { turn: degrees(-5) * turn, tilt: degrees(2) * wave(phase) },
      chest: { lean: degrees(3), turn: degrees(9) * turn, tilt: degrees(-2) * wave(phase) },
      head: { turn: degrees(-4) * turn },
      ...gait(phase, { reach: 24, lift: 48, standing: 4, arms: 22, bend: 14 }),
    }
  },
}

const run: Preset = {
  seconds: 0.68,
  pose(phase) {
    const turn = Math.cos(TURN * phase)
    return {
      hips: { turn: degrees(-7) * turn, lean: degrees(8) },
      chest: { lean: degrees(8), turn: degrees(14) * turn },
      head: { lean: degrees(-8), turn: degrees(-7) * turn },
      ...gait(phase, { reach: 40, lift: 95, standing: 14, arms: 42, bend: 78 }),
      lift: 0.06 * Math.abs(wave(phase)),
    }
  },
}

const jump: Preset = {
  seconds: 1.3,
  pose(phase) {
    const crouch = ease(phase, 0, 0.25) * (1 - ease(phase, 0.27, 0.38))
    const landing = ease(phase, 0.72, 0.8) * (1 - ease(phase, 0.82, 1))
    const flight = Math.max(0, Math.min(1, (phase - 0.34) / 0.4))
    const air = 4 * flight * (1 - flight)
    const bent = Math.max(crouch, landing * 0.8)
    const leg: LegPose = {
      swing: degrees(52 * bent + 18 * air),
      knee: degrees(98 * bent + 30 * air),
      point: degrees(30) * air,
    }
    const arms = mixArm(mixArm(HANGING, arm([18, -45], [14, -25]), bent), arm([60, 110], [50, 125]), air)
    return {
      chest: { lean: degrees(34 * bent - 4 * air) },
      head: { lean: degrees(-18 * bent) },
      legs: { left: leg, right: { ...leg, swing: (leg.swing ?? 0) * 0.92 } },
      arms: { left: arms, right: arms },
      lift: 0.5 * air,
    }
  },
}

const greeting: Preset = {
  seconds: 2,
  pose(phase) {
    const raised = ease(phase, 0, 0.18) * (1 - ease(phase, 0.82, 1))
    const swing = wave(phase * 4) * raised
    return {
      chest: { tilt: degrees(-3) * raised, lean: degrees(1) },
      head: { tilt: degrees(6) * raised, turn: degrees(-6) * raised },
      arms: {
        left: HANGING,
        right: mixArm(HANGING, arm([98, 12], [158 + 22 * swing, 10]), raised),
      },
    }
  },
}

const dance: Preset = {
  seconds: 2,
  pose(phase) {
    const beat = Math.abs(wave(phase * 2))
    const side = wave(phase)
    const step = (sign: number): LegPose => ({
      swing: degrees(14 * beat + 10 * Math.max(0, sign * side)),
      spread: degrees(6),
      knee: degrees(26 * beat + 26 * Math.max(0, sign * side)),
    })
    const hand = (sign: number) => {
      const up = 0.5 + 0.5 * sign * side
      return mixArm(arm([35, 30], [30, 95]), arm([120, 25], [165, 30]), up)
    }
    return {
      hips: { turn: degrees(14) * side, tilt: degrees(7) * side },
      chest: { turn: degrees(-18) * side, tilt: degrees(-10) * side, lean: degrees(5 * beat) },
      head: { tilt: degrees(8) * side, lean: degrees(6 * beat) },
      legs: { left: step(1), right: step(-1) },
      arms: { left: hand(1), right: hand(-1) },
      shift: { side: 0.06 * side },
    }
  },
}

const sit: Preset = {
  seconds: 4,
  pose(phase) {
    const breath = wave(phase)
    const leg: LegPose = { swing: degrees(88), spread: degrees(5), knee: degrees(90) }
    const resting = arm([12, 24 + breath], [4, 66])
    return {
      chest: { lean: degrees(4 + 1.2 * breath) },
      head: { lean: degrees(-2 - breath), turn: degrees(7) * wave(phase, 0.15) },
      legs: { left: leg, right: leg },
      arms: { left: resting, right: resting },
    }
  },
}

const death: Preset = {
  seconds: 1.8,
  pose(phase) {
    const hit = ease(phase, 0, 0.2)
    const fall = ease(phase, 0.15, 0.75)
    const settle = ease(phase, 0.7, 1)
    const fold = hit * (1 - fall)
    return {
      body: { lean: degrees(-88) * fall },
      chest: { lean: degrees(22 * fold - 4 * settle) },
      head: { lean: degrees(18 * fold - 8 * fall), turn: degrees(18) * settle },
      legs: {
        left: {
          swing: degrees(20 * fold + 14 * fall),
          knee: degrees(46 * fold + 24 * fall),
          spread: degrees(8) * fall,
        },
        right: { swing: degrees(14 * fold), knee: degrees(34 * fold + 4 * fall), spread: degrees(10) * fall },
      },
      arms: {
        left: mixArm(HANGING, arm([68, -6], [84, -8]), fall),
        right: mixArm(HANGING, arm([52, -6], [46, 0]), fall),
      },
      rest: { height: 0.13, weight: fall },
    }
  },
}

/** All clips that fit a humanoid. */
export const PRESETS = { idle, walk, run, jump, wave: greeting, dance, sit, death } satisfies Record<string, Preset>
export type PresetName = keyof typeof PRESETS

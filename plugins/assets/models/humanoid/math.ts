/** Vectors and rotations, as plain tuples; quaternions are x, y, z, w as in glTF. */
export type Vector = [x: number, y: number, z: number]
export type Quaternion = [x: number, y: number, z: number, w: number]

export const IDENTITY: Quaternion = [0, 0, 0, 1]

export const add = (a: Vector, b: Vector): Vector => [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
export const subtract = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
export const scale = (a: Vector, by: number): Vector => [a[0] * by, a[1] * by, a[2] * by]
export const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
export const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
]
export const length = (a: Vector): number => Math.hypot(a[0], a[1], a[2])

/** The direction of a vector; null for one without. */
export function direction(a: Vector): Vector | null {
  const size = length(a)
  return size > 1e-9 ? scale(a, 1 / size) : null
}

/** The rotation `b`, followed by `a`. */
export const multiply = (a: Quaternion, b: Quaternion): Quaternion => [
  a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
  a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
  a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
  a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
]

export const invert = ([x, y, z, w]: Quaternion): Quaternion => [-x, -y, -z, w]

export function rotate(q: Quaternion, v: Vector): Vector {
  const [x, y, z, w] = q
  const t = scale(cross([x, y, z], v), 2)
  return add(add(v, scale(t, w)), cross([x, y, z], t))
}

export function normalize([x, y, z, w]: Quaternion): Quaternion {
  const size = Math.hypot(x, y, z, w) || 1
  return [x / size, y / size, z / size, w / size]
}

/** A turn about an axis of length 1, in radians, right-handed. */
export function about(axis: Vector, angle: number): Quaternion {
  const half = Math.sin(angle / 2)
  return [axis[0] * half, axis[1] * half, axis[2] * half, Math.cos(angle / 2)]
}

/** The shortest turn that takes one direction to another. */
export function arc(from: Vector, to: Vector): Quaternion {
  const cosine = dot(from, to)
  if (cosine < -0.999999) {
    const side = Math.abs(from[0]) < 0.9 ? cross(from, [1, 0, 0]) : cross(from, [0, 1, 0])
    return about(direction(side) ?? [0, 0, 1], Math.PI)
  }
  const axis = cross(from, to)
  return normalize([axis[0], axis[1], axis[2], 1 + cosine])
}

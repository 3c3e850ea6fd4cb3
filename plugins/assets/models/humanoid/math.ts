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

/** Returns the direction of a vector; null for a zero vector. */
export function direction(a: Vector): Vector | null {
  const size = length(a)
  return size > 1e-9 ? scale(a, 1 / size) : null
}

/** Returns the rotation `b`, followed by `a`. */
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

/** Returns a right-handed rotation about a unit axis, in radians. */
export function about(axis: Vector, angle: number): Quaternion {
  const half = Math.sin(angle / 2)
  return [axis[0] * half, axis[1] * half, axis[2] * half, Math.cos(angle / 2)]
}

/** Returns the shortest rotation from one direction to another. */
export function arc(from: Vector, to: Vector): Quaternion {
  const cosine = dot(from, to)
  if (cosine < -0.999999) {
    const side = Math.abs(from[0]) < 0.9 ? cross(from, [1, 0, 0]) : cross(from, [0, 1, 0])
    return about(direction(side) ?? [0, 0, 1], Math.PI)
  }
  const axis = cross(from, to)
  return normalize([axis[0], axis[1], axis[2], 1 + cosine])
}

/** Transforms a point by a column-major matrix, as in glTF. */
export const transform = (m: readonly number[], [x, y, z]: Vector): Vector =>
  [0, 1, 2].map(
    (row) => (m[row] as number) * x + (m[row + 4] as number) * y + (m[row + 8] as number) * z + (m[row + 12] as number),
  ) as Vector

/** Returns the rotation that maps x and y to two perpendicular axes. */
export function fromAxes(x: Vector, y: Vector): Quaternion {
  const first = arc([1, 0, 0], x)
  const turned = rotate(first, [0, 1, 0])
  // The remainder is a rotation about x.
  return normalize(multiply(about(x, Math.atan2(dot(cross(turned, y), x), dot(turned, y))), first))
}

/** Interpolates between two rotations on the shorter arc. @param part from 0 to 1 */
export function between(a: Quaternion, b: Quaternion, part: number): Quaternion {
  const cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
  const sign = cosine < 0 ? -1 : 1
  const angle = Math.acos(Math.min(1, Math.abs(cosine)))
  const sine = Math.sin(angle)
  const [p, q] = sine < 1e-6 ? [1 - part, part] : [Math.sin((1 - part) * angle) / sine, Math.sin(part * angle) / sine]
  return normalize(a.map((value, at) => value * p + sign * (b[at] as number) * q) as Quaternion)
}

/** Returns the angle between two rotations, in radians. */
export function angleBetween(a: Quaternion, b: Quaternion): number {
  const cosine = Math.abs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3])
  return 2 * Math.acos(Math.min(1, cosine))
}

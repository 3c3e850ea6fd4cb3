import type { mat4, vec3, vec4 } from '@gltf-transform/core'

/** Matrices in the column-major order of glTF. */
export function multiply(a: mat4, b: mat4): mat4 {
  const product = new Array<number>(16).fill(0)
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) {
      let sum = 0
      for (let k = 0; k < 4; k++) sum += (a[k * 4 + row] as number) * (b[column * 4 + k] as number)
      product[column * 4 + row] = sum
    }
  }
  return product as unknown as mat4
}

export const transform = (m: mat4, [x, y, z]: vec3): vec3 => [
  m[0] * x + m[4] * y + m[8] * z + m[12],
  m[1] * x + m[5] * y + m[9] * z + m[13],
  m[2] * x + m[6] * y + m[10] * z + m[14],
]

/** Builds the matrix of a translation, a rotation as a unit quaternion, and a scale. */
export function compose([tx, ty, tz]: vec3, [x, y, z, w]: vec4, [sx, sy, sz]: vec3): mat4 {
  return [
    (1 - 2 * (y * y + z * z)) * sx,
    2 * (x * y + z * w) * sx,
    2 * (x * z - y * w) * sx,
    0,
    2 * (x * y - z * w) * sy,
    (1 - 2 * (x * x + z * z)) * sy,
    2 * (y * z + x * w) * sy,
    0,
    2 * (x * z + y * w) * sz,
    2 * (y * z - x * w) * sz,
    (1 - 2 * (x * x + y * y)) * sz,
    0,
    tx,
    ty,
    tz,
    1,
  ]
}

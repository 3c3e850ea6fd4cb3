// `room.random`: sfc32, a small generator of good quality, seeded for each room. See prelude.js.
;(() => (seed) => {
  let [a, b, c, d] = seed
  return () => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    c |= 0
    return (sum >>> 0) / 4294967296
  }
})()

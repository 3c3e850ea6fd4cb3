"""A wooden crate, barrel or chest: three things to fill a level with."""


def build(job):
    wood = job.material("wood", job.param("wood"), roughness=0.9)
    metal = job.material("metal", job.param("metal"), roughness=0.4, metallic=0.9)
    kind, size = job.param("kind"), job.param("size")
    parts = {"crate": _crate, "barrel": _barrel, "chest": _chest}[kind](job, size, wood, metal)
    job.join(kind, parts)


def _crate(job, size, wood, metal):
    edge = size * 0.09
    parts = [job.box("body", (size * 0.92, size * 0.92, size * 0.92), wood, (0, 0, size * 0.04))]
    far = (size - edge) / 2
    for x in (-far, far):
        for y in (-far, far):
            parts.append(job.box("post", (edge, edge, size), wood, (x, y, 0)))
    for z in (0, size - edge):
        for side in (-far, far):
            parts.append(job.box("beam", (size - 2 * edge, edge, edge), wood, (0, side, z)))
            parts.append(job.box("beam", (edge, size - 2 * edge, edge), wood, (side, 0, z)))
    if job.param("bands"):
        for side in (-1, 1):
            parts.append(job.box("band", (edge * 1.4, size * 1.01, size * 1.01), metal, (side * size * 0.22, 0, -size * 0.005)))
    return parts


def _barrel(job, size, wood, metal):
    radius = size * 0.36
    belly = [(0, 0), (radius * 0.82, 0), (radius * 0.96, size * 0.25), (radius, size * 0.5), (radius * 0.96, size * 0.75), (radius * 0.82, size), (0, size)]
    parts = [job.lathe("body", belly, wood, sides=14)]
    if job.param("bands"):
        for height, wide in ((0.16, 0.94), (0.32, 1.0), (0.66, 1.0), (0.82, 0.94)):
            parts.append(job.cylinder("band", radius * wide * 1.02, size * 0.05, metal, (0, 0, size * height - size * 0.025), sides=14))
    return parts


def _chest(job, size, wood, metal):
    import math

    wide, deep, high = size, size * 0.62, size * 0.42
    parts = [job.box("body", (wide, deep, high), wood)]
    steps = 6
    arc = [(deep / 2 * math.cos(math.pi * i / steps), deep / 2 * math.sin(math.pi * i / steps) * 0.8) for i in range(steps + 1)]
    for name, mat, width, grow, x in _lid_pieces(job, wood, metal, wide):
        vertices = [(x - width / 2, y * grow, high + z * grow) for y, z in arc] + [(x + width / 2, y * grow, high + z * grow) for y, z in arc]
        count = steps + 1
        faces = [tuple(range(count - 1, -1, -1)), tuple(range(count, 2 * count)), (0, count, 2 * count - 1, count - 1)]
        faces += [(i, i + 1, count + i + 1, count + i) for i in range(steps)]
        parts.append(job.mesh(name, vertices, [tuple(reversed(face)) for face in faces], mat))
    parts.append(job.box("lock", (size * 0.14, size * 0.05, size * 0.16), metal, (0, -deep / 2 - size * 0.02, high - size * 0.09)))
    return parts


def _lid_pieces(job, wood, metal, wide):
    pieces = [("lid", wood, wide, 1.0, 0.0)]
    if job.param("bands"):
        pieces += [("band", metal, wide * 0.08, 1.05, side * wide * 0.34) for side in (-1, 1)]
    return pieces

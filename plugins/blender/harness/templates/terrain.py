"""A piece of land: hills, island or mountains, coloured by height and slope."""

from mathutils import Vector, noise

BANDS = ("sand", "grass", "rock", "snow")


def build(job):
    size, cells, height = job.param("size"), job.param("cells"), job.param("height")
    shift = Vector((job.param("seed") * 17.31, job.param("seed") * 5.77, 0))
    shape = {"hills": _hills, "island": _island, "mountains": _mountains}[job.param("kind")]
    count = cells + 1
    vertices = []
    for row in range(count):
        for column in range(count):
            u, v = column / cells * 2 - 1, row / cells * 2 - 1
            vertices.append((u * size / 2, v * size / 2, shape(u, v, shift) * height))
        if row % 16 == 0:
            job.progress(0.1 + 0.15 * row / count, "shaping")
    land = job.mesh("terrain", vertices, _faces(count), None)
    for name in BANDS:
        land.data.materials.append(job.material(name, job.param(name), roughness=1.0))
    for polygon in land.data.polygons:
        polygon.material_index = _band(job, polygon, height)
    if job.param("water"):
        job.box("water", (size, size, 0.02), job.material("water", "#3f86b5", roughness=0.1), (0, 0, height * 0.02))


def _faces(count):
    """Triangles, their diagonals alternating: low-poly land looks made by hand."""
    faces = []
    for row in range(count - 1):
        for column in range(count - 1):
            a = row * count + column
            b, c, d = a + 1, a + count + 1, a + count
            faces += [(a, b, c), (a, c, d)] if (row + column) % 2 else [(a, b, d), (b, c, d)]
    return faces


def _fractal(u, v, shift, scale, octaves):
    return noise.fractal(Vector((u * scale, v * scale, 0)) + shift, 1.0, 2.0, octaves)


def _hills(u, v, shift):
    return 0.35 + 0.45 * _fractal(u, v, shift, 1.3, 4)


def _island(u, v, shift):
    from_middle = (u * u + v * v) ** 0.5
    return max(-0.06, (0.75 - from_middle * 1.05) + 0.35 * _fractal(u, v, shift, 1.8, 5))


def _mountains(u, v, shift):
    ridge = 1 - abs(_fractal(u, v, shift, 1.1, 6))
    return max(0.0, ridge) ** 3 * 1.1 - 0.05


def _band(job, polygon, height):
    level = polygon.center.z / height
    if level < 0.08:
        return 0
    if level > job.param("snowLine"):
        return 3
    return 2 if polygon.normal.z < 0.72 else 1

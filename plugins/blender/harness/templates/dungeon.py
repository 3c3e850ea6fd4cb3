"""A dungeon kit: pieces on a grid of 2 metres, as a room or side by side."""

CELL, HIGH = 2.0, 2.4


def build(job):
    mats = {name: job.material(name, job.param(name), roughness=1.0) for name in ("stone", "floor")}
    mats["wood"] = job.material("wood", "#70492b", roughness=0.9)
    mats["iron"] = job.material("iron", "#4a4d52", roughness=0.5, metallic=0.8)
    mats["flame"] = job.material("flame", "#ff9a2e", emission=4.0)
    rng = job.random()
    rng.seed(job.param("seed"))
    makers = {"floor": _floor, "wall": _wall, "doorway": _doorway, "pillar": _pillar, "torch": _torch, "stairs": _stairs}
    pieces = {name: make(job, rng, mats) for name, make in makers.items()}
    if job.param("layout") == "kit":
        for index, item in enumerate(pieces.values()):
            item.location = ((index - 2.5) * (CELL + 0.6), 0, 0)
    else:
        _room(job, pieces, job.param("width"), job.param("depth"))


def _floor(job, rng, mats):
    parts = [job.box("base", (CELL, CELL, 0.1), mats["stone"], (0, 0, -0.2))]
    half = CELL / 2
    for x in (-half / 2, half / 2):
        for y in (-half / 2, half / 2):
            parts.append(job.box("slab", (half * 0.94, half * 0.94, 0.1 + rng.uniform(0, 0.03)), mats["floor"], (x, y, -0.12), taper=0.97))
    return job.join("floor", parts)


def _courses(job, rng, mats, x1, x2, z1, z2):
    """A stretch of wall in rows of stones."""
    rows, made = max(1, round((z2 - z1) / 0.6)), []
    tall = (z2 - z1) / rows
    for row in range(rows):
        x = x1
        while x < x2 - 1e-6:
            wide = min(rng.uniform(0.5, 0.9), x2 - x)
            if x2 - x - wide < 0.3:
                wide = x2 - x
            made.append(job.box("brick", (wide * 0.97, 0.36 + rng.uniform(0, 0.06), tall * 0.96), mats["stone"], (x + wide / 2, 0, z1 + row * tall)))
            x += wide
    return made


def _wall(job, rng, mats):
    core = job.box("core", (CELL, 0.32, HIGH), mats["floor"])
    return job.join("wall", [core, *_courses(job, rng, mats, -CELL / 2, CELL / 2, 0, HIGH)])


def _doorway(job, rng, mats):
    side, top = CELL * 0.25, HIGH * 0.8
    parts = _courses(job, rng, mats, -CELL / 2, -CELL / 2 + side, 0, top) + _courses(job, rng, mats, CELL / 2 - side, CELL / 2, 0, top)
    parts += _courses(job, rng, mats, -CELL / 2, CELL / 2, top, HIGH)
    parts.append(job.box("lintel", (CELL * 0.62, 0.48, 0.16), mats["wood"], (0, 0, top - 0.08)))
    return job.join("doorway", parts)


def _pillar(job, rng, mats):
    parts = [job.box("foot", (0.7, 0.7, 0.25), mats["stone"], taper=0.85), job.cylinder("shaft", 0.26, HIGH - 0.5, mats["stone"], (0, 0, 0.25), sides=8, top=0.23)]
    parts.append(job.box("capital", (0.56, 0.56, 0.25), mats["stone"], (0, 0, HIGH - 0.25), taper=1.25))
    return job.join("pillar", parts)


def _torch(job, rng, mats):
    parts = [job.box("bracket", (0.1, 0.16, 0.1), mats["iron"], (0, -0.08, 1.4)), job.cylinder("handle", 0.035, 0.5, mats["wood"], (0, -0.16, 1.25), sides=6)]
    parts += [job.cylinder("cup", 0.05, 0.12, mats["iron"], (0, -0.16, 1.72), sides=8, top=0.09), job.blob("flame", 0.1, mats["flame"], (0, -0.16, 1.92), detail=0, squash=1.5)]
    return job.join("torch", parts)


def _stairs(job, rng, mats):
    steps = 6
    return job.join("stairs", [job.box("step", (CELL * 0.9, CELL / steps, HIGH / 2 / steps * (i + 1)), mats["stone"], (0, -CELL / 2 + (i + 0.5) * CELL / steps, 0)) for i in range(steps)])


def _room(job, pieces, width, depth):
    """Every piece of the room shares one of the six meshes."""
    half_x, half_y = width * CELL / 2, depth * CELL / 2
    place = lambda name, index, at, turn=0.0: job.copy(pieces[name], f"{name}.{index:02d}", at, turn)
    count = 0
    for column in range(width):
        for row in range(depth):
            place("floor", count, ((column + 0.5) * CELL - half_x, (row + 0.5) * CELL - half_y, 0))
            count += 1
    for column in range(width):
        x = (column + 0.5) * CELL - half_x
        place("wall", column, (x, half_y, 0))
        if column % 2 == 0:
            place("torch", column, (x, half_y - 0.24, 0))
    for row in range(depth):
        y = (row + 0.5) * CELL - half_y
        place("doorway" if row == depth // 2 else "wall", 50 + row, (-half_x, y, 0), 90)
    for index, (x, y) in enumerate(((-half_x, half_y), (half_x, half_y), (-half_x, -half_y), (half_x, -half_y))):
        place("pillar", index, (x, y, 0))
    place("stairs", 0, (half_x - CELL / 2, half_y - CELL * 0.7, 0))
    import bpy

    for item in pieces.values():
        bpy.data.objects.remove(item)

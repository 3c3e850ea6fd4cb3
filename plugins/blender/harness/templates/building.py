"""A house or tower: floors, windows, a door, a roof."""


def build(job):
    rng = job.random()
    rng.seed(job.param("seed"))
    mats = {name: job.material(name, job.param(name), roughness=0.9) for name in ("walls", "roof", "trim")}
    mats["glass"] = job.material("glass", "#9cc4d8", roughness=0.15)
    wide, deep, floors, storey = job.param("width"), job.param("depth"), job.param("floors"), 2.8
    high = floors * storey
    parts = [job.box("plinth", (wide + 0.3, deep + 0.3, 0.25), mats["trim"]), job.box("walls", (wide, deep, high), mats["walls"], (0, 0, 0.2))]
    for floor in range(floors):
        base = 0.2 + floor * storey
        if floor > 0:
            parts.append(job.box("ledge", (wide + 0.12, deep + 0.12, 0.14), mats["trim"], (0, 0, base - 0.07)))
        parts += _windows(job, mats, wide, deep, base + 0.95, skip_door=floor == 0)
    parts += [job.box("door", (1.0, 0.12, 2.05), mats["roof"], (0, -deep / 2 - 0.02, 0.2)), job.box("step", (1.5, 0.7, 0.2), mats["trim"], (0, -deep / 2 - 0.4, 0))]
    parts += {"gable": _gable, "hip": _hip, "flat": _flat}[job.param("roofKind")](job, mats, wide, deep, high + 0.2)
    if job.param("chimney"):
        parts.append(job.box("chimney", (0.55, 0.55, 2.2), mats["trim"], (wide * 0.28, deep * 0.12, high + 0.2)))
    job.join("building", parts)


def _windows(job, mats, wide, deep, sill, skip_door):
    made = []
    for side in (-1, 1):
        count = max(1, int(wide // 2.2))
        for i in range(count):
            x = (i + 0.5) * wide / count - wide / 2
            if not (skip_door and side < 0 and abs(x) < 1.1):
                made += _window(job, mats, (x, side * deep / 2, sill), (1.0, 0.1, 1.2))
        count = max(1, int(deep // 2.2))
        for i in range(count):
            made += _window(job, mats, (side * wide / 2, (i + 0.5) * deep / count - deep / 2, sill), (0.1, 1.0, 1.2))
    return made


def _window(job, mats, place, size):
    frame = tuple(edge + (0.16 if edge > 0.5 else 0) for edge in size)
    x, y, z = place
    return [job.box("frame", frame, mats["trim"], (x, y, z - 0.08)), job.box("pane", tuple(edge + (0.06 if edge < 0.5 else 0) for edge in size), mats["glass"], (x, y, z))]


def _gable(job, mats, wide, deep, base):
    over, rise = 0.45, deep * 0.42
    w, d = wide / 2 + over, deep / 2 + over
    vertices = [(-w, -d, base), (w, -d, base), (w, d, base), (-w, d, base), (-w, 0, base + rise), (w, 0, base + rise)]
    return [job.mesh("roof", vertices, [(3, 2, 1, 0), (0, 1, 5, 4), (2, 3, 4, 5), (1, 2, 5), (3, 0, 4)], mats["roof"])]


def _hip(job, mats, wide, deep, base):
    over, rise = 0.45, min(wide, deep) * 0.45
    w, d, ridge = wide / 2 + over, deep / 2 + over, max(0.0, (wide - deep) / 2)
    vertices = [(-w, -d, base), (w, -d, base), (w, d, base), (-w, d, base)]
    if ridge < 0.05:
        return [job.mesh("roof", [*vertices, (0, 0, base + rise)], [(3, 2, 1, 0), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)], mats["roof"])]
    vertices += [(-ridge, 0, base + rise), (ridge, 0, base + rise)]
    return [job.mesh("roof", vertices, [(3, 2, 1, 0), (0, 1, 5, 4), (2, 3, 4, 5), (1, 2, 5), (3, 0, 4)], mats["roof"])]


def _flat(job, mats, wide, deep, base):
    parts = [job.box("roof", (wide, deep, 0.12), mats["roof"], (0, 0, base))]
    for side in (-1, 1):
        parts.append(job.box("parapet", (wide + 0.2, 0.25, 0.7), mats["trim"], (0, side * deep / 2, base - 0.1)))
        parts.append(job.box("parapet", (0.25, deep - 0.26, 0.7), mats["trim"], (side * wide / 2, 0, base - 0.1)))
    return parts

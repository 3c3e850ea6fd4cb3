"""A car, truck or cart: the body and four wheels that turn."""


def build(job):
    paint = job.material("paint", job.param("color"), roughness=0.35, metallic=0.2)
    dark = job.material("rubber", "#22252a", roughness=0.95)
    steel = job.material("steel", "#a9b0b8", roughness=0.4, metallic=0.8)
    glass = job.material("glass", "#a8cbe0", roughness=0.1)
    lamp = job.material("lamp", "#fff1c2", emission=1.5)
    body, axles, radius = {"car": _car, "truck": _truck, "buggy": _buggy}[job.param("kind")](job, job.param("length"), paint, dark, steel, glass, lamp)
    body = job.join("body", body)
    wheels = []
    track = job.param("length") * 0.21
    for end, x in (("front", axles[0]), ("rear", axles[1])):
        for side, name in ((-1, "right"), (1, "left")):
            wheels.append(_wheel(job, f"wheel-{end}-{name}", radius, (x, side * track, radius), dark, steel))
    job.parent(wheels, body)


def _wheel(job, name, radius, place, dark, steel):
    """Its origin is its axle: a game turns it around its own Y."""
    wide = radius * 0.6
    tire = job.turn(job.cylinder("tire", radius, wide, dark, (0, wide / 2, 0), sides=14), x=90)
    hub = job.turn(job.cylinder("hub", radius * 0.5, wide * 1.08, steel, (0, wide * 0.54, 0), sides=8), x=90)
    wheel = job.join(name, [tire, hub])
    wheel.location = place
    return wheel


def _lamps(job, x, y, z, size, lamp):
    return [job.box("lamp", (size * 0.4, size * 1.6, size), lamp, (x, side * y, z)) for side in (-1, 1)]


def _car(job, long, paint, dark, steel, glass, lamp):
    wide, radius = long * 0.42, long * 0.085
    low = radius * 0.9
    parts = [job.box("hull", (long, wide, long * 0.14), paint, (0, 0, low), taper=0.97)]
    parts.append(job.box("cabin", (long * 0.5, wide * 0.88, long * 0.13), glass, (-long * 0.05, 0, low + long * 0.14), taper=0.76))
    parts.append(job.box("top", (long * 0.39, wide * 0.69, long * 0.015), paint, (-long * 0.05, 0, low + long * 0.268)))
    for end in (-1, 1):
        parts.append(job.box("bumper", (long * 0.03, wide * 0.96, long * 0.05), dark, (end * long * 0.505, 0, low + long * 0.01)))
    parts += _lamps(job, long * 0.49, wide * 0.34, low + long * 0.075, long * 0.035, lamp)
    return parts, (long * 0.3, -long * 0.3), radius


def _truck(job, long, paint, dark, steel, glass, lamp):
    wide, radius = long * 0.4, long * 0.08
    low = radius * 1.1
    parts = [job.box("chassis", (long, wide * 0.7, long * 0.05), dark, (0, 0, low))]
    parts.append(job.box("cab", (long * 0.28, wide, long * 0.3), paint, (long * 0.34, 0, low + long * 0.04), taper=0.94))
    parts.append(job.box("windscreen", (long * 0.02, wide * 0.84, long * 0.11), glass, (long * 0.473, 0, low + long * 0.19)))
    parts.append(job.box("bed", (long * 0.62, wide, long * 0.03), steel, (-long * 0.16, 0, low + long * 0.05)))
    for side in (-1, 1):
        parts.append(job.box("board", (long * 0.62, long * 0.02, long * 0.1), paint, (-long * 0.16, side * wide * 0.48, low + long * 0.08)))
    parts.append(job.box("tailgate", (long * 0.02, wide, long * 0.1), paint, (-long * 0.46, 0, low + long * 0.08)))
    parts += _lamps(job, long * 0.48, wide * 0.34, low + long * 0.07, long * 0.035, lamp)
    return parts, (long * 0.34, -long * 0.28), radius


def _buggy(job, long, paint, dark, steel, glass, lamp):
    wide, radius = long * 0.34, long * 0.12
    low = radius * 0.95
    parts = [job.box("tub", (long * 0.72, wide, long * 0.1), paint, (0, 0, low), taper=0.9), job.box("nose", (long * 0.24, wide * 0.6, long * 0.09), paint, (long * 0.38, 0, low + long * 0.005), taper=0.8)]
    for x, name in ((-0.12, "seat"), (-0.24, "engine")):
        parts.append(job.box(name, (long * 0.1, wide * 0.7, long * 0.16), dark if name == "seat" else steel, (long * x, 0, low + long * 0.08)))
    bar = long * 0.025
    for x in (-0.2, 0.12):
        for side in (-1, 1):
            parts.append(job.box("post", (bar, bar, long * 0.26), steel, (long * x, side * wide * 0.4, low + long * 0.08)))
        parts.append(job.box("bow", (bar, wide * 0.8 + bar, bar), steel, (long * x, 0, low + long * 0.34)))
    for side in (-1, 1):
        parts.append(job.box("rail", (long * 0.32 + bar, bar, bar), steel, (-long * 0.04, side * wide * 0.4, low + long * 0.34)))
    parts += _lamps(job, long * 0.49, wide * 0.22, low + long * 0.05, long * 0.04, lamp)
    return parts, (long * 0.34, -long * 0.3), radius

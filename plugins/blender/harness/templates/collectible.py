"""Something to pick up: coin, gem, heart, star or key."""

import math


def build(job):
    shine = job.material("shine", job.param("color"), roughness=0.25, metallic=job.param("metallic"), emission=job.param("glow"))
    accent = job.material("accent", job.param("accent"), roughness=0.3, metallic=job.param("metallic"))
    kind, size = job.param("kind"), job.param("size")
    parts = {"coin": _coin, "gem": _gem, "heart": _heart, "star": _star, "key": _key}[kind](job, size, shine, accent)
    item = job.join(kind, parts)
    if job.param("spin"):
        _spin(item)


def _coin(job, size, shine, accent):
    radius = size / 2
    rim = job.turn(job.cylinder("rim", radius, size * 0.1, shine, (0, size * 0.05, radius), sides=24), x=90)
    face = job.turn(job.cylinder("face", radius * 0.78, size * 0.13, accent, (0, size * 0.065, radius), sides=24), x=90)
    return [rim, face]


def _gem(job, size, shine, accent):
    wide = size * 0.38
    crown = [(0, 0), (wide, size * 0.6), (wide * 0.72, size * 0.82), (wide * 0.5, size * 0.84), (0, size * 0.84)]
    return [job.lathe("gem", crown, shine, sides=8), job.cylinder("table", wide * 0.45, size * 0.01, accent, (0, 0, size * 0.84), sides=8)]


def _outline(job, name, points, thick, mat, rise, bulge):
    """A flat outline made solid, its middle raised on both sides."""
    count = len(points)
    vertices = [(x, -thick / 2, z + rise) for x, z in points] + [(x, thick / 2, z + rise) for x, z in points]
    vertices += [(0, -thick / 2 - bulge, rise), (0, thick / 2 + bulge, rise)]
    faces = []
    for i in range(count):
        j = (i + 1) % count
        faces += [(i, j, 2 * count), (count + j, count + i, 2 * count + 1), (j, i, count + i, count + j)]
    return job.mesh(name, vertices, faces, mat)


def _heart(job, size, shine, accent):
    points = []
    for i in range(28):
        a = 2 * math.pi * i / 28
        x = 16 * math.sin(a) ** 3
        z = 13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)
        points.append((-x * size / 34, z * size / 34))
    return [_outline(job, "heart", points, size * 0.16, shine, size / 2, size * 0.1)]


def _star(job, size, shine, accent):
    points = []
    for i in range(10):
        a, reach = -2 * math.pi * i / 10, size * (0.5 if i % 2 == 0 else 0.22)
        points.append((math.sin(a) * reach, math.cos(a) * reach))
    return [_outline(job, "star", points, size * 0.08, shine, size / 2, size * 0.1)]


def _key(job, size, shine, accent):
    ring, tooth = size * 0.2, size * 0.09
    parts = [job.cylinder("shaft", size * 0.045, size * 0.62, shine, sides=8)]
    steps = 10
    for i in range(steps):
        a = 2 * math.pi * i / steps
        at = (math.cos(a) * ring * 0.8, 0, size * 0.78 + math.sin(a) * ring * 0.8)
        parts.append(job.turn(job.box("ring", (size * 0.08, size * 0.08, ring * 0.55), accent, at), y=-math.degrees(a)))
    for height in (0.06, 0.2):
        parts.append(job.box("tooth", (tooth * 1.8, size * 0.06, tooth), shine, (tooth * 0.9, 0, size * height)))
    return parts


def _spin(item):
    """One turn in two seconds, as an animation that loops."""
    import bpy

    bpy.context.scene.render.fps = 24
    for frame, turn in ((1, 0.0), (17, 2 * math.pi / 3), (33, 4 * math.pi / 3), (49, 2 * math.pi)):
        item.rotation_euler = (0, 0, turn)
        item.keyframe_insert("rotation_euler", frame=frame)
    item.animation_data.action.name = "spin"
    bpy.context.scene.frame_end = 49
    bpy.context.scene.frame_set(1)

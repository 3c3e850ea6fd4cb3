"""A tree: broadleaf, pine or palm."""

import math


def build(job):
    rng = job.random()
    rng.seed(job.param("seed"))
    bark = job.material("bark", job.param("bark"), roughness=1.0)
    leaves = job.material("leaves", job.param("leaves"), roughness=0.9)
    parts = {"broadleaf": _broadleaf, "pine": _pine, "palm": _palm}[job.param("kind")](job, rng, job.param("height"), bark, leaves)
    job.join("tree", parts)


def _broadleaf(job, rng, height, bark, leaves):
    trunk = height * 0.45
    parts = [job.cylinder("trunk", height * 0.06, trunk * 1.2, bark, sides=7, top=height * 0.035)]
    for i in range(job.param("tufts")):
        angle = i * 2.4 + rng.uniform(-0.3, 0.3)
        reach = height * (0.0 if i == 0 else rng.uniform(0.12, 0.2))
        high = trunk + height * (0.32 if i == 0 else rng.uniform(0.08, 0.28))
        radius = height * (0.25 if i == 0 else rng.uniform(0.14, 0.2))
        place = (math.cos(angle) * reach, math.sin(angle) * reach, high)
        parts.append(job.blob("tuft", radius, leaves, place, detail=1, roughness=0.12, squash=0.85))
    return parts


def _pine(job, rng, height, bark, leaves):
    parts = [job.cylinder("trunk", height * 0.05, height * 0.3, bark, sides=7)]
    tiers = max(2, job.param("tufts") - 1)
    for i in range(tiers):
        low = height * (0.2 + 0.6 * i / tiers)
        radius = height * 0.26 * (1 - 0.7 * i / tiers)
        tall = height * 0.8 / tiers * (1.5 if i < tiers - 1 else 1.0)
        tier = job.cylinder("tier", radius, tall, leaves, (0, 0, low), sides=9, top=0)
        parts.append(job.turn(tier, z=rng.uniform(0, 40)))
    return parts


def _palm(job, rng, height, bark, leaves):
    parts, lean, rings = [], height * 0.12, 6
    for i in range(rings):
        share = i / rings
        parts.append(job.cylinder("trunk", height * 0.045 * (1 - share * 0.35), height * 0.8 / rings * 1.06, bark, (lean * share**2, 0, height * 0.8 * share), sides=8, top=height * 0.036 * (1 - share * 0.35)))
    crown = (lean, 0.0, height * 0.8)
    for i in range(job.param("tufts") + 3):
        angle = 2 * math.pi * i / (job.param("tufts") + 3) + rng.uniform(-0.1, 0.1)
        parts.append(_frond(job, crown, angle, height * 0.36, leaves))
    return parts


def _frond(job, at, angle, length, leaves):
    along = [(0.0, 0.0, 0.02), (0.35, 0.16, 0.13), (0.7, 0.18, 0.05), (1.0, 0.0, -0.25)]
    vertices = []
    for reach, half, rise in along:
        for side in (-1, 1):
            x, y = reach * length, side * half * length * 0.7
            vertices.append((at[0] + x * math.cos(angle) - y * math.sin(angle), at[1] + x * math.sin(angle) + y * math.cos(angle), at[2] + rise * length))
        vertices.append((at[0] + reach * length * math.cos(angle), at[1] + reach * length * math.sin(angle), at[2] + (rise + 0.06) * length))
    faces = []
    for i in range(len(along) - 1):
        a, b = 3 * i, 3 * i + 3
        for left, right in ((0, 2), (2, 1)):
            faces.append((a + left, b + left, b + right, a + right))
            faces.append((a + right, b + right, b + left, a + left))
    # Both sides, so that a leaf is seen from below too.
    doubled = vertices + vertices
    count = len(vertices)
    faces = [face if n % 2 == 0 else tuple(count + corner for corner in face) for n, face in enumerate(faces)]
    return job.mesh("frond", doubled, faces, leaves)

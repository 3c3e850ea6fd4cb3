"""Wooden fence: a starter."""


def build(job):
    wood = job.material("fence wood", "#8d6a45")
    parts = [job.box("post", (0.1, 0.1, 1.0), wood, (x, 0, 0)) for x in (-0.95, 0.95)]
    parts += [job.box("rail", (1.9, 0.05, 0.12), wood, (0, 0.02, z)) for z in (0.35, 0.72)]
    parts += [job.box("board", (0.16, 0.03, 0.85), wood, (x, -0.02, 0.05)) for x in (-0.7, -0.42, -0.14, 0.14, 0.42, 0.7)]
    return job.join("fence", parts)

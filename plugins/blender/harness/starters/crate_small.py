"""Small crate: a starter."""


def build(job):
    wood = job.material("crate wood", "#a9793f")
    parts = [job.box("core", (0.46, 0.46, 0.46), wood, (0, 0, 0.02))]
    for side in (-1, 1):
        for z in (0.0, 0.44):
            parts.append(job.box("beam", (0.5, 0.06, 0.06), wood, (0, side * 0.22, z)))
            parts.append(job.box("beam", (0.06, 0.38, 0.06), wood, (side * 0.22, 0, z)))
    return job.join("crate", parts)

"""Iron-bound chest: a starter."""


def build(job):
    wood, iron = job.material("chest wood", "#8a5c34"), job.material("chest iron", "#4d5259", 0.5, 0.8)
    parts = [job.box("body", (0.8, 0.5, 0.36), wood), job.box("lid", (0.82, 0.52, 0.2), wood, (0, 0, 0.37), 0.82)]
    for x in (-0.28, 0.28):
        parts += [job.box("band", (0.07, 0.53, 0.365), iron, (x, 0, 0)), job.box("band", (0.07, 0.535, 0.207), iron, (x, 0, 0.37), 0.82)]
    parts.append(job.box("lock", (0.12, 0.05, 0.14), iron, (0, -0.26, 0.29)))
    return job.join("chest", parts)

"""Park bench: a starter."""


def build(job):
    wood, iron = job.material("bench wood", "#97693c"), job.material("bench iron", "#3b4046", 0.5, 0.7)
    parts = [job.box("slat", (1.5, 0.12, 0.04), wood, (0, -0.17 + 0.15 * i, 0.42)) for i in range(3)]
    parts += [job.box("back", (1.5, 0.04, 0.12), wood, (0, 0.24, z)) for z in (0.6, 0.78)]
    for x in (-0.6, 0.6):
        parts += [job.box("leg", (0.06, 0.4, 0.42), iron, (x, 0, 0), 0.9), job.box("post", (0.06, 0.05, 0.5), iron, (x, 0.2, 0.42))]
    return job.join("bench", parts)

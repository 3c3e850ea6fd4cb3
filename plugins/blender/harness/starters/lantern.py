"""Lantern: a starter."""


def build(job):
    iron, light = job.material("lantern iron", "#3c3f44", 0.5, 0.8), job.material("lantern light", "#ffc860", 0.3, 0, 4.0)
    parts = [job.cylinder("foot", 0.11, 0.04, iron, sides=8), job.cylinder("light", 0.07, 0.16, light, (0, 0, 0.04), sides=8)]
    parts += [job.cylinder("roof", 0.12, 0.08, iron, (0, 0, 0.2), sides=8, top=0.03), job.cylinder("ring", 0.025, 0.04, iron, (0, 0, 0.28), sides=6)]
    parts += [job.box("bar", (0.015, 0.015, 0.16), iron, (x, y, 0.04)) for x in (-0.065, 0.065) for y in (-0.065, 0.065)]
    return job.join("lantern", parts)

"""Lamp post: a starter."""


def build(job):
    iron, glass = job.material("lamp iron", "#33383f", 0.5, 0.7), job.material("lamp glass", "#ffe6a8", 0.2, 0, 2.5)
    parts = [job.cylinder("foot", 0.14, 0.3, iron, sides=8, top=0.08), job.cylinder("pole", 0.05, 2.5, iron, (0, 0, 0.3), sides=8)]
    parts += [job.box("glass", (0.2, 0.2, 0.3), glass, (0, 0, 2.82), 1.25), job.cylinder("hat", 0.24, 0.16, iron, (0, 0, 3.12), sides=8, top=0.03)]
    return job.join("lamp", parts)

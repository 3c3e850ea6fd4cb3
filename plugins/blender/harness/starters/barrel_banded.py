"""Banded barrel: a starter."""


def build(job):
    wood, iron = job.material("barrel wood", "#8a5a33"), job.material("barrel iron", "#50555c", 0.5, 0.8)
    parts = [job.lathe("body", [(0, 0), (0.28, 0), (0.34, 0.25), (0.36, 0.45), (0.34, 0.65), (0.28, 0.9), (0, 0.9)], wood)]
    for z, radius in ((0.12, 0.325), (0.42, 0.365), (0.72, 0.325)):
        parts.append(job.cylinder("band", radius, 0.06, iron, (0, 0, z)))
    return job.join("barrel", parts)

"""Ladder: a starter."""


def build(job):
    wood = job.material("ladder wood", "#9c7142")
    parts = [job.box("rail", (0.06, 0.05, 2.4), wood, (x, 0, 0)) for x in (-0.25, 0.25)]
    parts += [job.box("rung", (0.46, 0.04, 0.04), wood, (0, 0, 0.2 + 0.28 * i)) for i in range(8)]
    return job.join("ladder", parts)

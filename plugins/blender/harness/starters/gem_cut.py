"""Cut gem: a starter."""


def build(job):
    shape = [(0, 0), (0.16, 0.24), (0.12, 0.32), (0, 0.33)]
    return job.join("gem", [job.lathe("gem", shape, job.material("gem", "#3fb6c9", 0.1), sides=8)])

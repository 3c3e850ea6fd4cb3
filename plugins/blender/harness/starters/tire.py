"""Tyre: a starter."""


def build(job):
    rubber = job.material("tire rubber", "#26282c", 1.0)
    profile = [(0.2, 0.02), (0.3, 0.0), (0.35, 0.05), (0.35, 0.17), (0.3, 0.22), (0.2, 0.2), (0.2, 0.02)]
    outer = job.lathe("tire", profile, rubber, sides=16)
    outer.data.validate()
    return job.join("tire", [outer])

"""Red mushroom: a starter."""


def build(job):
    cap, stem = job.material("mushroom cap", "#c23a2b"), job.material("mushroom stem", "#efe3cd")
    parts = [job.lathe("stem", [(0, 0), (0.07, 0), (0.05, 0.12), (0.06, 0.24), (0, 0.24)], stem, sides=8)]
    parts.append(job.lathe("cap", [(0, 0.2), (0.2, 0.2), (0.18, 0.28), (0.1, 0.36), (0, 0.38)], cap, sides=10))
    for x, y, z in ((0.1, 0.02, 0.335), (-0.07, 0.09, 0.335), (-0.03, -0.1, 0.34)):
        parts.append(job.cylinder("dot", 0.025, 0.03, stem, (x, y, z), sides=6))
    return job.join("mushroom", parts)

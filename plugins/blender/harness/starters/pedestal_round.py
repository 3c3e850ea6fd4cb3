"""Round pedestal: a starter."""


def build(job):
    stone = job.material("pedestal stone", "#cfc8ba", 0.9)
    profile = [(0, 0), (0.4, 0), (0.4, 0.1), (0.28, 0.18), (0.25, 0.6), (0.3, 0.68), (0.38, 0.72), (0.38, 0.8), (0, 0.8)]
    return job.join("pedestal", [job.lathe("pedestal", profile, stone, sides=16)])

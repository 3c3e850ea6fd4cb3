"""Red potion: a starter."""


def build(job):
    glass, liquid, cork = job.material("potion glass", "#d8eef2", 0.1), job.material("potion liquid", "#c32743", 0.2, 0, 0.6), job.material("cork", "#a97c4e")
    parts = [job.lathe("liquid", [(0, 0.0), (0.1, 0.0), (0.15, 0.08), (0.14, 0.18), (0, 0.2)], liquid, sides=12)]
    parts.append(job.lathe("glass", [(0.141, 0.175), (0.1, 0.25), (0.045, 0.29), (0.045, 0.36), (0, 0.36)], glass, sides=12))
    parts.append(job.cylinder("cork", 0.04, 0.06, cork, (0, 0, 0.355), sides=8))
    return job.join("potion", parts)

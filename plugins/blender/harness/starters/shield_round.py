"""Round shield: a starter."""


def build(job):
    wood, iron = job.material("shield wood", "#7a2f2a"), job.material("shield iron", "#9aa1a8", 0.4, 0.8)
    disc = [(0, 0.0), (0.4, 0.0), (0.4, 0.03), (0.2, 0.07), (0, 0.08)]
    parts = [job.lathe("disc", disc, wood, sides=16), job.lathe("boss", [(0, 0.06), (0.1, 0.06), (0.07, 0.12), (0, 0.14)], iron, sides=10)]
    parts.append(job.cylinder("rim", 0.42, 0.025, iron, (0, 0, -0.003), sides=16))
    for part in parts:
        height = part.location.z
        job.turn(part, x=90)
        part.location = (0, -height, 0.42)
    return job.join("shield", parts)

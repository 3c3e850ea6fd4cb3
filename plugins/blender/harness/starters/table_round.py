"""Round table: a starter."""


def build(job):
    wood = job.material("table wood", "#9b6b40")
    parts = [job.cylinder("top", 0.55, 0.06, wood, (0, 0, 0.7), sides=18), job.cylinder("leg", 0.07, 0.7, wood, sides=8, top=0.05)]
    parts += [job.box("foot", (0.6, 0.08, 0.06), wood), job.box("foot", (0.08, 0.6, 0.06), wood, (0, 0, 0.001))]
    return job.join("table", parts)

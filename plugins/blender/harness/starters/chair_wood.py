"""Wooden chair: a starter."""


def build(job):
    wood = job.material("chair wood", "#8f6238")
    parts = [job.box("seat", (0.42, 0.42, 0.05), wood, (0, 0, 0.42))]
    parts += [job.box("leg", (0.05, 0.05, 0.42), wood, (x, y, 0)) for x in (-0.18, 0.18) for y in (-0.18, 0.18)]
    parts += [job.box("post", (0.05, 0.05, 0.45), wood, (x, 0.18, 0.47)) for x in (-0.18, 0.18)]
    parts += [job.box("slat", (0.32, 0.03, 0.09), wood, (0, 0.18, z)) for z in (0.58, 0.76)]
    return job.join("chair", parts)

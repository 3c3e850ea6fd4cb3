"""Round bush: a starter."""


def build(job):
    job.random().seed(5)
    leaves = job.material("bush leaves", "#4c7f36", 1.0)
    spots = ((0, 0, 0.42, 0.42), (0.34, 0.1, 0.28, 0.28), (-0.3, 0.14, 0.3, 0.3), (0.02, -0.32, 0.26, 0.26))
    return job.join("bush", [job.blob("tuft", r, leaves, (x, y, z), detail=1, roughness=0.12) for x, y, z, r in spots])

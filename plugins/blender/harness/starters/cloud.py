"""Cloud: a starter."""


def build(job):
    job.random().seed(3)
    white = job.material("cloud white", "#f7fafc", 1.0)
    spots = ((0, 0, 0.5, 0.5), (0.55, 0.05, 0.4, 0.38), (-0.55, 0, 0.38, 0.36), (0.2, 0.2, 0.75, 0.34), (-0.25, -0.1, 0.66, 0.32))
    return job.join("cloud", [job.blob("puff", r, white, (x, y, z), detail=1, roughness=0.05, squash=0.8) for x, y, z, r in spots])

"""Mossy rock: a starter."""


def build(job):
    job.random().seed(23)
    rock = job.blob("rock", 0.6, job.material("rock grey", "#86837d", 1.0), (0, 0, 0.34), detail=1, roughness=0.16, squash=0.75)
    moss = job.blob("moss", 0.42, job.material("moss", "#5f8a3a", 1.0), (0.05, 0, 0.58), detail=1, roughness=0.1, squash=0.5)
    return job.join("rock", [rock, moss])

"""Small rock: a starter."""


def build(job):
    job.random().seed(11)
    rock = job.blob("rock", 0.3, job.material("rock grey", "#86837d", 1.0), (0, 0, 0.18), detail=1, roughness=0.18, squash=0.7)
    return job.join("rock", [rock])

"""Gold coin: a starter."""


def build(job):
    gold = job.material("gold", "#f0b429", 0.25, 0.9)
    rim = job.turn(job.cylinder("rim", 0.2, 0.04, gold, (0, 0.02, 0.2), sides=18), x=90)
    face = job.turn(job.cylinder("face", 0.15, 0.055, gold, (0, 0.0275, 0.2), sides=18), x=90)
    return job.join("coin", [rim, face])

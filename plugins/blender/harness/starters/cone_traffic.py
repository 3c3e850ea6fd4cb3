"""Traffic cone: a starter."""


def build(job):
    orange, white = job.material("cone orange", "#ee6a1f"), job.material("cone white", "#f4f2ee")
    parts = [job.box("foot", (0.42, 0.42, 0.05), orange), job.cylinder("cone", 0.16, 0.6, orange, (0, 0, 0.05), sides=12, top=0.03)]
    parts.append(job.cylinder("stripe", 0.118, 0.14, white, (0, 0, 0.28), sides=12, top=0.088))
    return job.join("cone", parts)

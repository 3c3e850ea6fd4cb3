"""Sign post: a starter."""


def build(job):
    wood = job.material("sign wood", "#86603a")
    arrow = [(-0.4, 0.02), (0.3, 0.02), (0.45, 0.17), (0.3, 0.32), (-0.4, 0.32)]
    vertices = [(x, y, 0.95 + z) for y in (-0.08, -0.04) for x, z in arrow]
    faces = [(0, 1, 2, 3, 4), (9, 8, 7, 6, 5), *[((i + 1) % 5, i, 5 + i, 5 + (i + 1) % 5) for i in range(5)]]
    return job.join("sign", [job.box("post", (0.08, 0.08, 1.4), wood), job.mesh("board", vertices, faces, wood)])

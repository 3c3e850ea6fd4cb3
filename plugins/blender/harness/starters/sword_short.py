"""Short sword: a starter."""


def build(job):
    steel, leather = job.material("blade steel", "#c9d1d8", 0.25, 0.9), job.material("hilt leather", "#5a3a24")
    edge, long = 0.045, 0.62
    blade = [(-edge, 0, 0.18), (0, -0.012, 0.18), (edge, 0, 0.18), (0, 0.012, 0.18)]
    blade += [(x, y, 0.18 + long * 0.82) for x, y, _ in blade] + [(0, 0, 0.18 + long)]
    faces = [(3, 2, 1, 0), *[(i, (i + 1) % 4, 4 + (i + 1) % 4, 4 + i) for i in range(4)], *[(4 + i, 4 + (i + 1) % 4, 8) for i in range(4)]]
    parts = [job.mesh("blade", blade, faces, steel), job.box("guard", (0.2, 0.04, 0.03), steel, (0, 0, 0.155))]
    parts += [job.cylinder("grip", 0.018, 0.13, leather, (0, 0, 0.025), sides=8), job.cylinder("pommel", 0.028, 0.03, steel, sides=8)]
    return job.join("sword", parts)

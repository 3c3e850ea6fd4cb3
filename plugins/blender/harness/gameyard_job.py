"""The helper API of templates and scripts: `job.param('height')`, `job.progress(0.4, 'rigging')`, and so on.

Every name without an underscore is documented in the plugin's guide and stays as it is.
"""

import json
import math
import random as _random
import sys

import bpy

warnings = []
_request = {}
_rng = _random.Random(0)
_progress = 0.0


def begin(request):
    """Called once by the harness."""
    global _request, _rng
    _request = request
    _rng = _random.Random(request.get("seed", 1))


def param(name, default=None):
    """A parameter of the job: what was sent, else the template's default, else `default`."""
    value = (_request.get("parameters") or {}).get(name)
    return default if value is None else value


def random():
    """A random generator seeded by the parameter `seed`: the same job gives the same model."""
    return _rng


def progress(fraction, message=""):
    """Tells how far the job is, from 0 to 1, and what it does; never goes back."""
    global _progress
    fraction = min(max(float(fraction), 0.0), 1.0)
    _progress = max(_progress, fraction)
    print("@gameyard " + json.dumps({"progress": round(_progress, 4), "message": str(message)[:200]}), flush=True)


def log(*words):
    """Writes a line into the job's log."""
    print(*words, flush=True)


def warn(message):
    """A line for the job's inspection, for people who look at the result."""
    warnings.append(str(message)[:500])
    print("warning:", message, flush=True)


def add_starter(starter_id, location=(0.0, 0.0, 0.0), rotation=0.0, scale=1.0):
    """Adds a starter asset to the scene; returns its root object. `rotation` is in degrees around the vertical."""
    import starters

    root = starters.build(starter_id, sys.modules[__name__])
    root.location = location
    root.rotation_euler = (0.0, 0.0, math.radians(rotation))
    root.scale = (scale, scale, scale)
    return root


def material(name, color, roughness=0.8, metallic=0.0, emission=0.0):
    """A plain material. `color` is '#rrggbb' or linear (r, g, b); the same name again is the same material."""
    existing = bpy.data.materials.get(name)
    if existing:
        return existing
    red, green, blue = _linear(color) if isinstance(color, str) else color[:3]
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.diffuse_color = (red, green, blue, 1.0)
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (red, green, blue, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Metallic"].default_value = metallic
    if emission > 0:
        glow = shader.inputs.get("Emission Color") or shader.inputs.get("Emission")  # 4.x, else 3.x
        glow.default_value = (red, green, blue, 1.0)
        shader.inputs["Emission Strength"].default_value = emission
    return made


def _linear(text):
    def channel(pair):
        value = int(pair, 16) / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return channel(text[1:3]), channel(text[3:5]), channel(text[5:7])


def mesh(name, vertices, faces, mat=None, location=(0.0, 0.0, 0.0), smooth=False):
    """An object from vertices (x, y, z) and faces (tuples of indices), counter-clockwise seen from outside."""
    data = bpy.data.meshes.new(name)
    data.from_pydata([tuple(vertex) for vertex in vertices], [], [tuple(face) for face in faces])
    data.validate()
    data.update()
    return _object(name, data, mat, location, smooth)


def box(name, size, mat=None, location=(0.0, 0.0, 0.0), taper=1.0):
    """A box of `size` (x, y, z) that stands on `location`; its top is `taper` times as wide."""
    x, y, z = size[0] / 2, size[1] / 2, size[2]
    t = taper
    vertices = [(-x, -y, 0), (x, -y, 0), (x, y, 0), (-x, y, 0)]
    vertices += [(-x * t, -y * t, z), (x * t, -y * t, z), (x * t, y * t, z), (-x * t, y * t, z)]
    faces = [(3, 2, 1, 0), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
    return mesh(name, vertices, faces, mat, location)


def cylinder(name, radius, height, mat=None, location=(0.0, 0.0, 0.0), sides=12, top=None, smooth=False):
    """A cylinder that stands on `location`; with `top`, a cone cut off at that radius, 0 for a pointed one."""
    top = radius if top is None else top
    ring = [(math.cos(a), math.sin(a)) for a in (2 * math.pi * i / sides for i in range(sides))]
    vertices = [(radius * x, radius * y, 0.0) for x, y in ring]
    base = tuple(range(sides - 1, -1, -1))
    if top <= 0:
        vertices.append((0.0, 0.0, height))
        sides_of = [(i, (i + 1) % sides, sides) for i in range(sides)]
        return mesh(name, vertices, [base, *sides_of], mat, location, smooth)
    vertices += [(top * x, top * y, height) for x, y in ring]
    walls = [(i, (i + 1) % sides, sides + (i + 1) % sides, sides + i) for i in range(sides)]
    return mesh(name, vertices, [base, tuple(range(sides, 2 * sides)), *walls], mat, location, smooth)


def lathe(name, profile, mat=None, location=(0.0, 0.0, 0.0), sides=12, smooth=False):
    """Turns a profile of (radius, height) points, from below to above, around the vertical."""
    vertices, rings = [], []
    for radius, height in profile:
        if radius <= 1e-6:
            rings.append([len(vertices)] * sides)
            vertices.append((0.0, 0.0, height))
        else:
            rings.append(list(range(len(vertices), len(vertices) + sides)))
            angles = (2 * math.pi * i / sides for i in range(sides))
            vertices += [(radius * math.cos(a), radius * math.sin(a), height) for a in angles]
    faces = []
    for below, above in zip(rings, rings[1:]):
        for i in range(sides):
            corners = [below[i], below[(i + 1) % sides], above[(i + 1) % sides], above[i]]
            face = [corner for n, corner in enumerate(corners) if corner not in corners[:n]]
            if len(face) > 2:
                faces.append(tuple(face))
    for ring, flip in ((rings[0], True), (rings[-1], False)):
        if len(set(ring)) > 2:
            faces.append(tuple(reversed(ring)) if flip else tuple(ring))
    return mesh(name, vertices, faces, mat, location, smooth)


def blob(name, radius, mat=None, location=(0.0, 0.0, 0.0), detail=1, roughness=0.15, squash=1.0):
    """A ball of triangles with an uneven surface around `location`: foliage, rocks, clouds."""
    import bmesh

    shape = bmesh.new()
    bmesh.ops.create_icosphere(shape, subdivisions=detail + 1, radius=radius)
    for vertex in shape.verts:
        vertex.co *= 1 + _rng.uniform(-roughness, roughness)
        vertex.co.z *= squash
    data = bpy.data.meshes.new(name)
    shape.to_mesh(data)
    shape.free()
    return _object(name, data, mat, location, False)


def turn(item, x=0.0, y=0.0, z=0.0):
    """Turns an object by degrees around the axes; returns it."""
    item.rotation_euler = (math.radians(x), math.radians(y), math.radians(z))
    return item


def join(name, items):
    """Makes one object of several, keeping their materials; its origin is the scene's."""
    items = [item for item in items if item is not None]
    bpy.context.view_layer.update()
    for item in bpy.context.view_layer.objects:
        item.select_set(False)
    for item in items:
        item.data.transform(item.matrix_world)
        item.parent = None
        item.matrix_world.identity()
        item.select_set(True)
    bpy.context.view_layer.objects.active = items[0]
    if len(items) > 1:
        bpy.ops.object.join()
    joined = bpy.context.view_layer.objects.active
    joined.name = joined.data.name = name
    joined.select_set(False)
    return joined


def parent(children, to):
    """Hangs objects on another one, keeping their places; returns that one."""
    bpy.context.view_layer.update()
    for child in children:
        child.parent = to
        child.matrix_parent_inverse = to.matrix_world.inverted()
    return to


def copy(item, name, location=(0.0, 0.0, 0.0), rotation=0.0):
    """Another object with the same mesh, which costs the model next to nothing. `rotation` is in degrees."""
    made = item.copy()
    made.name = name
    made.location = location
    made.rotation_euler = (0.0, 0.0, math.radians(rotation))
    bpy.context.scene.collection.objects.link(made)
    return made


def _object(name, data, mat, location, smooth):
    if mat is not None:
        data.materials.append(mat)
    if smooth:
        for polygon in data.polygons:
            polygon.use_smooth = True
    made = bpy.data.objects.new(name, data)
    made.location = location
    bpy.context.scene.collection.objects.link(made)
    return made

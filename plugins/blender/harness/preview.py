"""The preview of a model: framed and lit, on a transparent ground."""

import math

import bpy
from mathutils import Vector

ANGLES = {"front": (0, 8), "side": (90, 8), "back": (180, 8), "top": (0, 85), "three-quarter": (35, 22)}


def read(path):
    """Replaces the scene by a model, so that nothing of a script's render settings is left."""
    import numpy

    # The importer of Blender 3.4 uses a name that NumPy dropped in 1.24.
    if "bool" not in vars(numpy):
        numpy.bool = bool
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path)


def render(path, request):
    """Renders with Cycles on the CPU: EEVEE needs a display. Parameters of a render job: `view`, `samples`."""
    parameters = request.get("parameters") or {} if request["action"] == "render" else {}
    scene = bpy.context.scene
    for item in scene.objects:
        if item.type in {"LIGHT", "CAMERA"}:
            item.hide_render = True
    center, radius = _sphere()
    turn, rise = ANGLES.get(parameters.get("view"), ANGLES["three-quarter"])
    scene.camera = _camera(center, radius, math.radians(turn), math.radians(rise))
    _sun(Vector((math.sin(math.radians(turn - 40)), -math.cos(math.radians(turn - 40)), 1.1)), 3.2)
    _sun(Vector((math.sin(math.radians(turn + 60)), -math.cos(math.radians(turn + 60)), 0.5)), 1.1)
    scene.world = bpy.data.worlds.new("preview")
    scene.world.use_nodes = True
    background = scene.world.node_tree.nodes["Background"].inputs
    background["Color"].default_value = (0.75, 0.85, 1.0, 1.0)
    background["Strength"].default_value = 0.55
    size, samples = request.get("previewSize") or 512, parameters.get("samples") or request.get("previewSamples") or 16
    _settings(scene, path, int(size), int(samples))
    bpy.ops.render.render(write_still=True)


def _settings(scene, path, size, samples):
    render = scene.render
    render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = min(max(samples, 1), 256)
    scene.cycles.use_denoising = False
    scene.cycles.max_bounces = 3
    scene.cycles.use_adaptive_sampling = True
    render.resolution_x = render.resolution_y = min(max(size, 64), 1024)
    render.resolution_percentage = 100
    render.film_transparent = True
    render.use_border = render.use_compositing = render.use_sequencer = False
    render.image_settings.file_format = "PNG"
    render.image_settings.color_mode = "RGBA"
    render.image_settings.color_depth = "8"
    render.use_file_extension = False
    render.filepath = path
    try:
        scene.view_settings.view_transform = "Standard"
    except TypeError:
        pass


def _sphere():
    """A ball around everything that is seen."""
    graph = bpy.context.evaluated_depsgraph_get()
    corners = []
    for item in bpy.context.scene.objects:
        if item.type in {"MESH", "CURVE", "SURFACE", "FONT", "META"} and item.visible_get() and not item.hide_render:
            shape = item.evaluated_get(graph)
            corners += [shape.matrix_world @ Vector(corner) for corner in shape.bound_box]
    low = Vector(min(corner[axis] for corner in corners) for axis in range(3))
    high = Vector(max(corner[axis] for corner in corners) for axis in range(3))
    return (low + high) / 2, max((high - low).length / 2, 1e-3)


def _camera(center, radius, turn, rise):
    data = bpy.data.cameras.new("preview")
    data.lens_unit, data.angle = "FOV", math.radians(30)
    distance = radius / math.sin(math.radians(15)) * 1.02
    data.clip_start, data.clip_end = max(distance - radius * 2, distance / 1000), distance + radius * 2
    where = Vector((math.sin(turn) * math.cos(rise), -math.cos(turn) * math.cos(rise), math.sin(rise)))
    return _place(bpy.data.objects.new("preview", data), center + where * distance, center)


def _sun(direction, strength):
    data = bpy.data.lights.new("preview", "SUN")
    data.energy, data.angle = strength, math.radians(8)
    return _place(bpy.data.objects.new("preview", data), direction * 10, Vector((0, 0, 0)))


def _place(item, where, target):
    item.location = where
    item.rotation_euler = (target - where).to_track_quat("-Z", "Y").to_euler()
    bpy.context.scene.collection.objects.link(item)
    return item

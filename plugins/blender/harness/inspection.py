"""Counts what is in the scene, as the export has it."""

import bpy
from mathutils import Vector


def inspect(job):
    """Objects, meshes, triangles, materials, images, bounds, armatures, bones, animations and warnings."""
    graph = bpy.context.evaluated_depsgraph_get()
    objects, low, high = [], Vector((1e18,) * 3), Vector((-1e18,) * 3)
    materials, images, warnings = set(), set(), []
    for item in bpy.context.scene.objects:
        if item.type not in {"MESH", "CURVE", "SURFACE", "FONT", "META"} or not item.visible_get():
            continue
        shape = item.evaluated_get(graph)
        data = shape.to_mesh()
        if data is None:
            continue
        data.calc_loop_triangles()
        used = {data.materials[p.material_index].name for p in data.polygons if p.material_index < len(data.materials) and data.materials[p.material_index]}
        materials |= used
        for vertex in data.vertices:
            place = shape.matrix_world @ vertex.co
            low = Vector(map(min, low, place))
            high = Vector(map(max, high, place))
        entry = {
            "name": item.name,
            "vertices": len(data.vertices),
            "triangles": len(data.loop_triangles),
            "materials": sorted(used),
        }
        objects.append(entry)
        if entry["triangles"] == 0:
            warnings.append(f"{item.name} has no faces.")
        if not used:
            warnings.append(f"{item.name} has no material.")
        if any(abs(factor) < 1e-6 for factor in item.matrix_world.to_scale()):
            warnings.append(f"{item.name} is scaled to nothing.")
        shape.to_mesh_clear()
    for name in materials:
        tree = bpy.data.materials[name].node_tree
        images |= {node.image.name for node in (tree.nodes if tree else []) if node.type == "TEX_IMAGE" and node.image}
    armatures = [
        {"name": item.name, "bones": [bone.name for bone in item.data.bones]}
        for item in bpy.context.scene.objects
        if item.type == "ARMATURE"
    ]
    empty = not objects
    size = [0.0, 0.0, 0.0] if empty else [round(b - a, 6) for a, b in zip(low, high)]
    if not empty and max(size) > 1000:
        warnings.append("The scene is more than a kilometre wide: a unit is a metre.")
    return {
        "blender": bpy.app.version_string,
        "units": "metres, +Z up (the GLB: +Y up)",
        "objects": objects,
        "totals": {
            "objects": len(objects),
            "meshes": len({item.data.name for item in bpy.context.scene.objects if item.type == "MESH"}),
            "vertices": sum(entry["vertices"] for entry in objects),
            "triangles": sum(entry["triangles"] for entry in objects),
            "materials": len(materials),
            "images": len(images),
            "bones": sum(len(armature["bones"]) for armature in armatures),
        },
        "materials": sorted(materials),
        "images": sorted(images),
        "bounds": None if empty else {"min": [round(v, 6) for v in low], "max": [round(v, 6) for v in high], "size": size},
        "armatures": armatures,
        "animations": sorted(action.name for action in bpy.data.actions),
        "warnings": warnings,
    }

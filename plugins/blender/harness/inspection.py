"""Counts what is in the written model, and says where it differs from the scene."""

import bpy

import shaders


def inspect(model, job, scene):
    """Objects, meshes, triangles, materials, images, bounds, armatures, bones, animations and warnings.

    `model` is the written GLB; `scene` knows what the scene showed before the export (evaluated_scene.py).
    """
    objects = model.objects()
    joints = {joint for skin in model.skins for joint in skin["joints"]}
    bounds = model.bounds()
    low, high = bounds or ([0.0] * 3, [0.0] * 3)
    size = [round(b - a, 6) for a, b in zip(low, high)]
    materials = sorted({name for entry in objects for name in entry["materials"]})
    return {
        "blender": bpy.app.version_string,
        "units": "metres, +Z up (the GLB: +Y up)",
        "objects": objects,
        "totals": {
            "objects": len(objects),
            "meshes": len(model.meshes),
            "vertices": sum(entry["vertices"] for entry in objects),
            "triangles": sum(entry["triangles"] for entry in objects),
            "materials": len(materials),
            "images": len(model.images()),
            "bones": len(joints),
        },
        "materials": materials,
        "images": model.images(),
        "bounds": bounds and {"min": [round(v, 6) for v in low], "max": [round(v, 6) for v in high], "size": size},
        "armatures": [
            {"name": skin.get("name", ""), "bones": [model.nodes[joint].get("name", "") for joint in skin["joints"]]}
            for skin in model.skins
        ],
        "animations": model.animations(),
        "warnings": [
            *scene.warnings,
            *_geometry(model, objects, scene),
            *_motion(model),
            *_properties(model),
            *shaders.differences(model),
            *_size(size),
            *({"code": "script", "object": None, "message": message} for message in job.warnings),
        ],
    }


def warning(code, item, message):
    """An entry of `warnings`. `item` is the name of an object or material, or None."""
    return {"code": code, "object": item, "message": message}


def _geometry(model, objects, scene):
    found, plain = {}, {}
    for entry in objects:
        name = scene.sources.get(entry["name"], entry["name"])
        found[name] = found.get(name, 0) + entry["triangles"]
        if not entry["materials"]:
            plain[name] = True
    for name in plain:
        yield warning("no_material", name, f"{name} has no material.")
    for name, wanted in scene.triangles.items():
        if wanted != found.get(name, 0):
            message = f"{name} has {wanted} triangles in the scene and {found.get(name, 0)} in the model."
            yield warning("triangles_differ", name, message)
    for node in model.nodes:
        lost = [key for key in scene.shape_keys.get(node.get("name"), []) if key not in model.target_names(node)]
        if lost:
            yield warning("shape_keys_lost", node["name"], f"{node['name']} lost shape keys: {_listed(lost)}.")


def _motion(model):
    names = set(model.animations())
    for action in bpy.data.actions:
        if not ({action.name} | _tracks_of(action)) & names:
            message = f"The action {action.name} is not in the model: no exported object plays it, or it moves what glTF can't."
            yield warning("animation_lost", action.name, message)


def _tracks_of(action):
    owners = [item for item in bpy.data.objects if item.animation_data]
    owners += [key for key in bpy.data.shape_keys if key.animation_data]
    tracks = [track for owner in owners for track in owner.animation_data.nla_tracks]
    return {track.name for track in tracks if any(strip.action == action for strip in track.strips)}


def _properties(model):
    """Values that JSON can't hold, such as links to other objects, are not exported."""
    for node in model.nodes:
        item = bpy.context.scene.objects.get(node.get("name", ""))
        own = item.keys() if item else ()
        known = set(item.bl_rna.properties.keys()) if item else set()
        lost = [key for key in own if key not in known and key not in node.get("extras", {}) and key not in OF_BLENDER]
        if lost:
            yield warning("property_lost", item.name, f"{item.name} lost custom properties: {_listed(lost)}.")


# Custom properties of Blender's own parts, which no script has set.
OF_BLENDER = {"cycles", "cycles_visibility", "cycles_curves", "_RNA_UI"}


def _size(size):
    if max(size) > 1000:
        yield warning("very_large", None, "The scene is more than a kilometre wide: a unit is a metre.")


def _listed(names):
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")

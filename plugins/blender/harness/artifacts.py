"""What a job leaves behind: model.glb, preview.png, inspection.json, scene.blend.

The written model is the only truth: it is counted for the inspection, and read again for the preview.
"""

import json
import os
import tempfile

import bpy
from mathutils import Matrix

import inspection
import preview
from evaluated_scene import EvaluatedScene
from glb import Glb

# What each action writes, in this order.
WRITES = {
    "create": ("inspection.json", "model.glb", "preview.png", "scene.blend"),
    "revise": ("inspection.json", "model.glb", "preview.png", "scene.blend"),
    "render": ("preview.png",),
    "inspect": ("inspection.json",),
    "export": ("inspection.json", "model.glb"),
}


def write(request, job, output, failed):
    """Checks the scene against `faceLimit`, then writes what the action is for."""
    wanted = WRITES[request["action"]]
    path = {name: os.path.join(output, name) for name in wanted}
    if bpy.context.object and bpy.context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    scene = EvaluatedScene(failed)
    if scene.total == 0:
        raise failed("empty_scene", " ".join(["There is no mesh with a face in the scene.", *reasons(scene)])[:2000])
    limit = request["faceLimit"]
    if scene.total > limit and request["action"] != "inspect":
        raise failed("face_limit", f"The scene has {scene.total} triangles; the limit is {limit}.")
    if "scene.blend" in wanted:
        job.progress(0.55, "saving")
        bpy.ops.wm.save_as_mainfile(filepath=path["scene.blend"], check_existing=False, compress=True, copy=True)
    job.progress(0.6, "exporting")
    model = path.get("model.glb") or os.path.join(tempfile.mkdtemp(), "model.glb")
    scene.apply()
    export(model)
    if "inspection.json" in wanted:
        found = inspection.inspect(Glb(model), job, scene)
        for entry in found["warnings"]:
            print("warning:", entry["message"], flush=True)
        with open(path["inspection.json"], "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    if "preview.png" in wanted:
        job.progress(0.7, "rendering")
        preview.read(model)
        preview.render(path["preview.png"], request)


def reasons(scene):
    return (entry["message"] for entry in scene.warnings)


def export(path):
    """One binary glTF: +Y up, cameras and lamps left out. Options differ between 3.4 and 4.x."""
    known = bpy.ops.export_scene.gltf.get_rna_type().properties.keys()
    posed = any(is_posed(item) for item in bpy.context.scene.objects)
    options = {
        "filepath": path,
        "export_format": "GLB",
        "export_yup": True,
        "export_apply": False,  # EvaluatedScene.apply has done it
        "export_cameras": False,
        "export_lights": False,
        "export_extras": True,
        "export_current_frame": posed,
        "export_rest_position_armature": not posed,
        "export_animations": bool(bpy.data.actions),
        "export_nla_strips": True,
        "export_all_influences": False,
        "export_colors": True,
        "use_visible": True,
        "use_active_scene": True,
    }
    bpy.ops.export_scene.gltf(**{name: value for name, value in options.items() if name in known})


def is_posed(item):
    """Whether an armature stands in a pose that no animation gives it, so that the model has to."""
    if item.type != "ARMATURE" or (item.animation_data and (item.animation_data.action or item.animation_data.nla_tracks)):
        return False
    still = [number for row in Matrix() for number in row]
    return any(
        abs(number - other) > 1e-4
        for bone in item.pose.bones
        for number, other in zip((number for row in bone.matrix_basis for number in row), still)
    )

"""What a job leaves behind: model.glb, preview.png, inspection.json, scene.blend."""

import json
import os

import bpy

import inspection
import preview

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
    if bpy.context.object and bpy.context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    found = inspection.inspect(job)
    if not any(entry["triangles"] for entry in found["objects"]):
        raise failed("empty_scene", "There is no mesh with a face in the scene.")
    limit = request["faceLimit"]
    if found["totals"]["triangles"] > limit and request["action"] != "inspect":
        raise failed("face_limit", f"The scene has {found['totals']['triangles']} triangles; the limit is {limit}.")
    path = {name: os.path.join(output, name) for name in wanted}
    if "model.glb" in wanted:
        job.progress(0.6, "exporting")
        export(path["model.glb"])
    if "preview.png" in wanted:
        job.progress(0.7, "rendering")
        preview.render(path["preview.png"], request)
    if "scene.blend" in wanted:
        job.progress(0.95, "saving")
        bpy.ops.wm.save_as_mainfile(filepath=path["scene.blend"], check_existing=False, compress=True, copy=True)
    if "inspection.json" in wanted:
        found["warnings"] += job.warnings
        with open(path["inspection.json"], "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


def export(path):
    """One binary glTF: +Y up, modifiers applied, cameras and lamps left out. Options differ between 3.4 and 4.x."""
    known = bpy.ops.export_scene.gltf.get_rna_type().properties.keys()
    options = {
        "filepath": path,
        "export_format": "GLB",
        "export_yup": True,
        "export_apply": not any(item.type == "ARMATURE" for item in bpy.context.scene.objects),
        "export_cameras": False,
        "export_lights": False,
        "export_extras": False,
        "export_animations": bool(bpy.data.actions),
        "export_nla_strips": True,
        "export_all_influences": False,
        "export_colors": True,
        "use_visible": True,
    }
    bpy.ops.export_scene.gltf(**{name: value for name, value in options.items() if name in known})

"""A figure with a skeleton that animation libraries know (Mixamo's names), ready for walking and waving."""

import bpy

# Bone, its parent, and its two ends for a figure one metre tall, facing -Y: x to its left, z up.
BONES = [
    ("Hips", None, (0, 0.52), (0, 0.58)),
    ("Spine", "Hips", (0, 0.58), (0, 0.66)),
    ("Spine1", "Spine", (0, 0.66), (0, 0.74)),
    ("Spine2", "Spine1", (0, 0.74), (0, 0.81)),
    ("Neck", "Spine2", (0, 0.81), (0, 0.85)),
    ("Head", "Neck", (0, 0.85), (0, 1.0)),
    *[
        bone
        for side, s in (("Left", 1), ("Right", -1))
        for bone in (
            (f"{side}Shoulder", "Spine2", (s * 0.02, 0.79), (s * 0.09, 0.79)),
            (f"{side}Arm", f"{side}Shoulder", (s * 0.09, 0.79), (s * 0.24, 0.79)),
            (f"{side}ForeArm", f"{side}Arm", (s * 0.24, 0.79), (s * 0.38, 0.79)),
            (f"{side}Hand", f"{side}ForeArm", (s * 0.38, 0.79), (s * 0.45, 0.79)),
            (f"{side}UpLeg", "Hips", (s * 0.06, 0.52), (s * 0.06, 0.29)),
            (f"{side}Leg", f"{side}UpLeg", (s * 0.06, 0.29), (s * 0.06, 0.06)),
            (f"{side}Foot", f"{side}Leg", (s * 0.06, 0.06), (s * 0.06, 0.02)),
        )
    ],
]


def build(job):
    tall, broad = job.param("height"), job.param("build")
    mats = {name: job.material(name, job.param(name), roughness=0.85) for name in ("skin", "shirt", "trousers", "shoes", "hair")}
    mats["eyes"] = job.material("eyes", "#23262b", roughness=0.4)
    rig = _skeleton(tall)
    parts = [_weigh(part, bone) for bone, part in _parts(job, tall, broad, job.param("headSize"), mats)]
    body = job.join("humanoid", parts)
    for name, *_ in BONES:
        if _bone(name) not in body.vertex_groups:
            body.vertex_groups.new(name=_bone(name))
    body.parent = rig
    body.modifiers.new("skeleton", "ARMATURE").object = rig
    bpy.context.view_layer.update()


def _bone(name):
    return f"mixamorig:{name}"


def _skeleton(tall):
    data = bpy.data.armatures.new("skeleton")
    rig = bpy.data.objects.new("skeleton", data)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for name, above, (x1, z1), (x2, z2) in BONES:
        bone = data.edit_bones.new(_bone(name))
        bone.head, bone.tail = (x1 * tall, 0, z1 * tall), (x2 * tall, 0, z2 * tall)
        if name.endswith("Foot"):
            bone.tail = (x2 * tall, -0.09 * tall, z2 * tall)
        bone.roll = 0
        if above:
            bone.parent = data.edit_bones[_bone(above)]
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def _weigh(part, bones):
    """Binds a part to a bone; to two, from one end of the part to the other along the height."""
    names = bones if isinstance(bones, tuple) else (bones,)
    groups = [part.vertex_groups.new(name=_bone(name)) for name in names]
    heights = [vertex.co.z for vertex in part.data.vertices]
    low, span = min(heights), max(max(heights) - min(heights), 1e-6)
    for vertex in part.data.vertices:
        share = (vertex.co.z - low) / span
        if len(groups) == 1:
            groups[0].add([vertex.index], 1.0, "REPLACE")
        else:
            groups[0].add([vertex.index], 1.0 - share, "REPLACE")
            groups[1].add([vertex.index], share, "REPLACE")
    return part


def _parts(job, tall, broad, head, mats):
    def block(name, size, mat, place, taper=1.0):
        return job.box(name, tuple(edge * tall for edge in size), mat, tuple(at * tall for at in place), taper)

    w = 0.2 * broad
    yield "Hips", block("pelvis", (w * 0.92, 0.12 * broad, 0.1), mats["trousers"], (0, 0, 0.5), 1.04)
    yield ("Spine", "Spine2"), block("torso", (w * 0.95, 0.125 * broad, 0.235), mats["shirt"], (0, 0, 0.59), 1.12)
    yield "Neck", block("neck", (0.06, 0.06, 0.05), mats["skin"], (0, 0, 0.815))
    size = 0.15 * head
    yield "Head", block("head", (size, size * 0.95, size * 1.05), mats["skin"], (0, 0, 0.85), 0.94)
    yield "Head", block("hair", (size * 1.08, size * 1.03, size * 0.32), mats["hair"], (0, 0.006, 0.85 + size * 0.82), 0.86)
    for s in (-1, 1):
        yield "Head", block("eye", (size * 0.13, 0.008, size * 0.18), mats["eyes"], (s * size * 0.22, -size * 0.475, 0.85 + size * 0.45))
    for side, s in (("Left", 1), ("Right", -1)):
        arm = 0.062 * broad
        for bone, reach, length, mat, thick in (
            ("Arm", 0.165, 0.16, mats["shirt"], arm * 1.1),
            ("ForeArm", 0.31, 0.15, mats["skin"], arm * 0.9),
            ("Hand", 0.415, 0.07, mats["skin"], arm * 1.05),
        ):
            yield f"{side}{bone}", block(bone, (length, thick, thick), mat, (s * reach, 0, 0.79 - thick / 2))
        leg = 0.085 * broad
        yield f"{side}UpLeg", block("thigh", (leg, leg * 1.1, 0.235), mats["trousers"], (s * 0.06 * broad, 0, 0.285), 1.12)
        yield f"{side}Leg", block("shin", (leg * 0.86, leg * 0.95, 0.24), mats["trousers"], (s * 0.06 * broad, 0, 0.055), 1.1)
        yield f"{side}Foot", block("shoe", (leg * 1.02, 0.15, 0.06), mats["shoes"], (s * 0.06 * broad, -0.03, 0), 0.88)

# Models for the tests, made by Blender: blender -b --factory-startup --python blender-models.py -- FOLDER WHICH...
import math
import os
import sys

import bmesh
import bpy

folder, *wanted = sys.argv[sys.argv.index('--') + 1:]

# Names of the same bones in the conventions that the clips must fit.
BONES = ['hips', 'spine', 'chest', 'neck', 'head', 'lUpLeg', 'lLeg', 'lFoot', 'rUpLeg', 'rLeg', 'rFoot',
         'lShoulder', 'lArm', 'lForeArm', 'lHand', 'rShoulder', 'rArm', 'rForeArm', 'rHand']
NAMES = {
    'mixamo': ['mixamorig:Hips', 'mixamorig:Spine', 'mixamorig:Spine1', 'mixamorig:Neck', 'mixamorig:Head',
               'mixamorig:LeftUpLeg', 'mixamorig:LeftLeg', 'mixamorig:LeftFoot',
               'mixamorig:RightUpLeg', 'mixamorig:RightLeg', 'mixamorig:RightFoot',
               'mixamorig:LeftShoulder', 'mixamorig:LeftArm', 'mixamorig:LeftForeArm', 'mixamorig:LeftHand',
               'mixamorig:RightShoulder', 'mixamorig:RightArm', 'mixamorig:RightForeArm', 'mixamorig:RightHand'],
    'vrm': ['J_Bip_C_Hips', 'J_Bip_C_Spine', 'J_Bip_C_Chest', 'J_Bip_C_Neck', 'J_Bip_C_Head',
            'J_Bip_L_UpperLeg', 'J_Bip_L_LowerLeg', 'J_Bip_L_Foot', 'J_Bip_R_UpperLeg', 'J_Bip_R_LowerLeg',
            'J_Bip_R_Foot', 'J_Bip_L_Shoulder', 'J_Bip_L_UpperArm', 'J_Bip_L_LowerArm', 'J_Bip_L_Hand',
            'J_Bip_R_Shoulder', 'J_Bip_R_UpperArm', 'J_Bip_R_LowerArm', 'J_Bip_R_Hand'],
    'rigify': ['spine', 'spine.001', 'spine.002', 'spine.004', 'spine.006', 'thigh.L', 'shin.L', 'foot.L', 'thigh.R',
               'shin.R', 'foot.R', 'shoulder.L', 'upper_arm.L', 'forearm.L', 'hand.L', 'shoulder.R', 'upper_arm.R',
               'forearm.R', 'hand.R'],
    'unreal': ['pelvis', 'spine_01', 'spine_02', 'neck_01', 'head', 'thigh_l', 'calf_l', 'foot_l', 'thigh_r', 'calf_r',
               'foot_r', 'clavicle_l', 'upperarm_l', 'lowerarm_l', 'hand_l', 'clavicle_r', 'upperarm_r', 'lowerarm_r',
               'hand_r'],
    'readyplayerme': ['Hips', 'Spine', 'Spine1', 'Neck', 'Head', 'LeftUpLeg', 'LeftLeg', 'LeftFoot', 'RightUpLeg',
                      'RightLeg', 'RightFoot', 'LeftShoulder', 'LeftArm', 'LeftForeArm', 'LeftHand', 'RightShoulder',
                      'RightArm', 'RightForeArm', 'RightHand'],
}


def clear():
    bpy.ops.wm.read_factory_settings(use_empty=True)


def material(name, color):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.node_tree.nodes['Principled BSDF'].inputs['Base Color'].default_value = (*color, 1)
    return made


def export(name):
    bpy.ops.export_scene.gltf(filepath=os.path.join(folder, name + '.glb'), export_format='GLB')


def joints(pose):
    """Heads and tails by bone, z up, facing -y, metres. `pose`: degrees that the arms hang below the horizontal."""
    drop = math.radians(pose)
    along = lambda length: (length * math.cos(drop), -length * math.sin(drop))
    place = {
        'hips': (None, (0, 0, 0.98), (0, 0, 1.10)),
        'spine': ('hips', (0, 0, 1.10), (0, 0, 1.25)),
        'chest': ('spine', (0, 0, 1.25), (0, 0, 1.48)),
        'neck': ('chest', (0, 0, 1.48), (0, 0, 1.58)),
        'head': ('neck', (0, 0, 1.58), (0, 0, 1.80)),
    }
    for side, sign in (('l', 1), ('r', -1)):
        place[side + 'UpLeg'] = ('hips', (sign * 0.1, 0, 0.95), (sign * 0.1, -0.02, 0.52))
        place[side + 'Leg'] = (side + 'UpLeg', (sign * 0.1, -0.02, 0.52), (sign * 0.1, 0.02, 0.09))
        place[side + 'Foot'] = (side + 'Leg', (sign * 0.1, 0.02, 0.09), (sign * 0.1, -0.14, 0.02))
        x, z = 0.18, 1.45
        place[side + 'Shoulder'] = ('chest', (sign * 0.03, 0, 1.44), (sign * x, 0, z))
        for bone, parent, length in (('Arm', 'Shoulder', 0.28), ('ForeArm', 'Arm', 0.26), ('Hand', 'ForeArm', 0.16)):
            dx, dz = along(length)
            place[side + bone] = (side + parent, (sign * x, 0, z), (sign * (x + dx), 0, z + dz))
            x, z = x + dx, z + dz
    return place


def humanoid(name, convention, pose=0, roll=0.0, scale=1.0, without=()):
    """`without`: bones that the rig lacks; what they would move follows the bone above."""
    clear()
    place = joints(pose)
    names = dict(zip(BONES, NAMES[convention]))
    mesh = bpy.data.meshes.new('Body')
    vertices, edges = [], []
    for bone, (parent, head, tail) in place.items():
        first = len(vertices)
        vertices += [head, tail]
        edges.append((first, first + 1))
    mesh.from_pydata(vertices, edges, [])
    bm = bmesh.new()
    bm.from_mesh(mesh)
    bmesh.ops.remove_doubles(bm, verts=bm.verts, dist=0.001)
    hips = min((v for v in bm.verts if abs(v.co.x) < 0.001), key=lambda v: v.co.z)
    for vertex in list(bm.verts):
        if abs(vertex.co.z - 0.95) < 0.001 and abs(abs(vertex.co.x) - 0.1) < 0.001:
            bm.edges.new((hips, vertex))
        if abs(vertex.co.z - 1.44) < 0.001 and abs(abs(vertex.co.x) - 0.03) < 0.001:
            top = min((v for v in bm.verts if abs(v.co.x) < 0.001), key=lambda v: abs(v.co.z - 1.48))
            bm.edges.new((top, vertex))
    bm.to_mesh(mesh)
    bm.free()
    body = bpy.data.objects.new('Body', mesh)
    bpy.context.collection.objects.link(body)
    bpy.context.view_layer.objects.active = body
    body.select_set(True)
    skin = body.modifiers.new('Skin', 'SKIN')
    for data in mesh.skin_vertices[0].data:
        data.radius = (0.06, 0.06)
    body.modifiers.new('Subsurf', 'SUBSURF').levels = 1
    bpy.ops.object.modifier_apply(modifier='Skin')
    bpy.ops.object.modifier_apply(modifier='Subsurf')
    mesh.materials.append(material('Skin', (0.8, 0.5, 0.35)))

    rig = bpy.data.objects.new('Rig', bpy.data.armatures.new('Rig'))
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode='EDIT')
    for bone, (parent, head, tail) in place.items():
        if bone in without:
            continue
        made = rig.data.edit_bones.new(names[bone])
        made.head, made.tail = head, tail
        made.roll = roll
        while parent in without:
            parent = place[parent][0]
        if parent:
            made.parent = rig.data.edit_bones[names[parent]]
    bpy.ops.object.mode_set(mode='OBJECT')
    bpy.ops.object.select_all(action='DESELECT')
    body.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.parent_set(type='ARMATURE_AUTO')
    rig.scale = (scale, scale, scale)
    export(name)


def snake(name):
    """No humanoid: five bones in a row, and a clip of its own that moves and turns them."""
    clear()
    bpy.ops.mesh.primitive_cylinder_add(vertices=12, radius=0.1, depth=2.5, rotation=(0, math.pi / 2, 0))
    body = bpy.context.object
    bpy.ops.object.transform_apply(rotation=True)
    body.modifiers.new('Subsurf', 'SUBSURF').levels = 2
    bpy.ops.object.modifier_apply(modifier='Subsurf')
    rig = bpy.data.objects.new('Rig', bpy.data.armatures.new('Rig'))
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode='EDIT')
    before = None
    for index in range(5):
        bone = rig.data.edit_bones.new('Segment%d' % index)
        bone.head, bone.tail = (index * 0.5 - 1.25, 0, 0), (index * 0.5 - 0.75, 0, 0)
        bone.parent = before
        before = bone
    bpy.ops.object.mode_set(mode='OBJECT')
    bpy.ops.object.select_all(action='DESELECT')
    body.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.parent_set(type='ARMATURE_AUTO')
    bpy.ops.object.mode_set(mode='POSE')
    rig.animation_data_create()
    rig.animation_data.action = bpy.data.actions.new('Slither')
    for frame, bend in ((1, 0.0), (13, 0.5), (25, -0.3)):
        for index, bone in enumerate(rig.pose.bones):
            bone.rotation_mode = 'QUATERNION'
            bone.rotation_quaternion = (math.cos(bend / 2), 0, 0, math.sin(bend / 2) * (-1) ** index)
            bone.keyframe_insert('rotation_quaternion', frame=frame)
        rig.pose.bones[0].location = (0, bend, 0)
        rig.pose.bones[0].keyframe_insert('location', frame=frame)
    bpy.ops.object.mode_set(mode='OBJECT')
    export(name)


HANDS_AND_FEET = ('lHand', 'rHand', 'lFoot', 'rFoot')
BELOW_ELBOW_AND_KNEE = HANDS_AND_FEET + ('lForeArm', 'rForeArm', 'lLeg', 'rLeg')


def monkey(name, levels, smooth):
    clear()
    bpy.ops.mesh.primitive_monkey_add()
    thing = bpy.context.object
    if levels:
        thing.modifiers.new('Subsurf', 'SUBSURF').levels = levels
        bpy.ops.object.modifier_apply(modifier='Subsurf')
    if smooth:
        bpy.ops.object.shade_smooth()
    thing.data.materials.append(material('Fur', (0.4, 0.2, 0.1)))
    export(name)


def textured(name, size):
    clear()
    bpy.ops.mesh.primitive_uv_sphere_add(segments=64, ring_count=32)
    bpy.ops.object.shade_smooth()
    image = bpy.data.images.new('Stripes', size, size)
    row = []
    for x in range(size):
        stripe = (x * 16 // size) % 2
        row += [0.9 * stripe + 0.05, 0.3, 0.6 * (1 - stripe), 1]
    image.pixels = row * size
    image.pack()
    paint = material('Paint', (1, 1, 1))
    node = paint.node_tree.nodes.new('ShaderNodeTexImage')
    node.image = image
    paint.node_tree.links.new(node.outputs['Color'], paint.node_tree.nodes['Principled BSDF'].inputs['Base Color'])
    bpy.context.object.data.materials.append(paint)
    export(name)


def several(name):
    clear()
    bpy.ops.mesh.primitive_torus_add(major_segments=96, minor_segments=32)
    torus = bpy.context.object
    for index, color in enumerate([(0.8, 0.1, 0.1), (0.1, 0.6, 0.2), (0.1, 0.2, 0.8)]):
        torus.data.materials.append(material('Paint %d' % index, color))
    for polygon in torus.data.polygons:
        polygon.material_index = polygon.index % 3 if polygon.index < 900 else 0
    bpy.ops.object.empty_add(location=(0, 0, 1))
    bpy.context.object.name = 'Socket'
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, 2), size=0.5)
    export(name)


MAKERS = {
    'flat': lambda: monkey('flat', 2, False),
    'smooth': lambda: monkey('smooth', 3, True),
    'huge': lambda: monkey('huge', 5, True),
    'textured': lambda: textured('textured', 2048),
    'several': lambda: several('several'),
    'mixamo': lambda: humanoid('mixamo', 'mixamo'),
    'vrm': lambda: humanoid('vrm', 'vrm', pose=40),
    'rigify': lambda: humanoid('rigify', 'rigify', pose=45, roll=0.7),
    'unreal': lambda: humanoid('unreal', 'unreal', pose=50, roll=-0.4),
    'readyplayerme': lambda: humanoid('readyplayerme', 'readyplayerme', pose=10, scale=0.01),
    'handless': lambda: humanoid('handless', 'rigify', pose=40, without=HANDS_AND_FEET),
    'snake': lambda: snake('snake'),
    'stubby': lambda: humanoid('stubby', 'rigify', pose=20, roll=0.3, without=BELOW_ELBOW_AND_KNEE + (
        'spine', 'chest', 'neck', 'lShoulder', 'rShoulder')),
}

for which in wanted:
    MAKERS[which]()

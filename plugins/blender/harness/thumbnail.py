"""Renders a picture of model.glb, which a stranger made: `blender … --python thumbnail.py -- INPUT OUTPUT`."""

import os
import sys

INPUT, OUTPUT = sys.argv[sys.argv.index("--") + 1 :][:2]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import bpy
import numpy

import preview

# The importer of Blender 3.4 uses a name that NumPy dropped in 1.24.
if not hasattr(numpy, "bool"):
    numpy.bool = bool

bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=os.path.join(INPUT, "model.glb"))
preview.render(os.path.join(OUTPUT, "preview.png"), {"action": "thumbnail", "previewSize": 512, "previewSamples": 16})

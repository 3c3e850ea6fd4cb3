"""Renders a picture of model.glb, which a stranger made: `blender … --python thumbnail.py -- INPUT OUTPUT`."""

import os
import sys

INPUT, OUTPUT = sys.argv[sys.argv.index("--") + 1 :][:2]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import preview

preview.read(os.path.join(INPUT, "model.glb"))
preview.render(os.path.join(OUTPUT, "preview.png"), {"action": "thumbnail", "previewSize": 512, "previewSamples": 16})

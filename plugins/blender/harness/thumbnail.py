"""Renders a picture of model.glb, which a stranger made: `blender … --python thumbnail.py -- INPUT OUTPUT`."""

import os
import sys

INPUT, OUTPUT = sys.argv[sys.argv.index("--") + 1 :][:2]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import preview
from glb import Glb

# The importer leaves these out, so that the platform's own drawing shows more.
NOT_SHOWN = {"EXT_mesh_gpu_instancing"}
missing = NOT_SHOWN & set(Glb(os.path.join(INPUT, "model.glb")).json.get("extensionsUsed", []))
if missing:
    sys.exit(f"Blender does not show {', '.join(sorted(missing))}.")

preview.read(os.path.join(INPUT, "model.glb"))
preview.render(os.path.join(OUTPUT, "preview.png"), {"action": "thumbnail", "previewSize": 512, "previewSamples": 16})

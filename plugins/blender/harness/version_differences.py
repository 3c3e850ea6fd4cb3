"""Explains errors of scripts that were written for another version of Blender."""

import json
import os
import re

import bpy


def hint(error):
    """What an author needs for an error such as "AttributeError: …"; None for an error with another cause."""
    with open(os.path.join(os.path.dirname(__file__), "version_differences.json"), encoding="utf-8") as file:
        differences = json.load(file)
    for difference in differences:
        later = bpy.app.version >= tuple(int(part) for part in difference["version"].split("."))
        pattern = difference["former" if later else "later"]
        if pattern and re.search(pattern, error):
            return f"This is Blender {bpy.app.version_string}. {difference['text']}"
    return None

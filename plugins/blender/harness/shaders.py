"""Finds shader nodes that glTF can't express. The model then has another look than the scene."""

import bpy

# The inputs of Principled BSDF that glTF has as textures, by the part of the material.
TEXTURES = {
    "Base Color": ("pbrMetallicRoughness", "baseColorTexture"),
    "Metallic": ("pbrMetallicRoughness", "metallicRoughnessTexture"),
    "Roughness": ("pbrMetallicRoughness", "metallicRoughnessTexture"),
    "Normal": (None, "normalTexture"),
    "Emission": (None, "emissiveTexture"),
    "Emission Color": (None, "emissiveTexture"),
}
# The exporter reads these with an image; other nodes between it and the shader have no effect on the model.
BESIDE_IMAGES = {
    "TEX_IMAGE", "MAPPING", "TEX_COORD", "UVMAP", "NORMAL_MAP", "SEPRGB", "SEPARATE_COLOR", "VERTEX_COLOR", "ATTRIBUTE",
    "RGB", "VALUE", "MIX", "MIX_RGB", "MATH", "REROUTE", "FRAME",
}  # fmt: skip
COLOURS = {"VERTEX_COLOR", "ATTRIBUTE"}
CONSTANTS = {"RGB", "VALUE"}
# Shaders that the exporter knows besides Principled BSDF.
SHADERS = {"BSDF_PRINCIPLED", "EMISSION", "BACKGROUND", "GROUP"}


def differences(model):
    """Warnings for materials that the model has in another look."""
    for written in model.materials:
        material = bpy.data.materials.get(written.get("name", ""))
        if not material or not material.use_nodes or not material.node_tree:
            continue
        output = material.node_tree.get_output_node("ALL") or material.node_tree.get_output_node("EEVEE")
        if output is None:
            continue
        shader = _source(output.inputs["Surface"])
        if shader is not None and shader.type not in SHADERS:
            yield _lost(material, f"only Principled BSDF is exported, not {shader.bl_label}")
        if output.inputs["Displacement"].is_linked:
            yield _lost(material, "displacement by the shader is not exported")
        if shader is not None and shader.type == "BSDF_PRINCIPLED":
            yield from _inputs(model, written, material, shader)


def _inputs(model, written, material, shader):
    for name, (part, texture) in TEXTURES.items():
        socket = shader.inputs.get(name)
        source = socket and _source(socket)
        if not source or source.type in CONSTANTS:
            continue
        before = _before(source)
        if name == "Base Color" and source.type in COLOURS and model.has_colours(written):
            continue
        known = written.get(part, {}) if part else written
        odd = sorted({node.bl_label for node in before if node.type not in BESIDE_IMAGES})
        if odd:
            yield _lost(material, f"nodes of {name} are not exported: {', '.join(odd[:8])}. Bake them to an image")
        elif texture not in known:
            yield _lost(material, f"{name} has no image that could be exported")


def _lost(material, reason):
    return {"code": "material_differs", "object": material.name, "message": f"Material {material.name}: {reason}."}


def _source(socket):
    """The node that feeds a socket; None for none."""
    while socket.is_linked:
        node = socket.links[0].from_node
        if node.type != "REROUTE":
            return node
        socket = node.inputs[0]
    return None


def _before(node):
    """A node and all that feed it."""
    found, waiting = [], [node]
    while waiting:
        at = waiting.pop()
        if at in found:
            continue
        found.append(at)
        waiting += [link.from_node for socket in at.inputs for link in socket.links]
    return found

"""Reads what a loader of the written GLB sees: nodes, meshes, triangles, materials, bounds."""

import json
import struct

from mathutils import Matrix, Quaternion, Vector

TRIANGLES = 4


class Glb:
    """A glTF binary that Blender's exporter wrote."""

    def __init__(self, path):
        with open(path, "rb") as file:
            file.read(12)
            length, _ = struct.unpack("<II", file.read(8))
            self.json = json.loads(file.read(length))
            file.read(8)
            self.binary = file.read()
        self.nodes = self.json.get("nodes", [])
        self.meshes = self.json.get("meshes", [])
        self.materials = self.json.get("materials", [])
        self.skins = self.json.get("skins", [])
        self._accessors = self.json.get("accessors", [])
        self._parents = {child: at for at, node in enumerate(self.nodes) for child in node.get("children", [])}

    def objects(self):
        """The nodes that have a mesh, as dictionaries of the inspection."""
        return [self._object(node) for node in self.nodes if "mesh" in node]

    def images(self):
        return sorted({image.get("name", "") for image in self.json.get("images", [])})

    def animations(self):
        return sorted(animation.get("name", "") for animation in self.json.get("animations", []))

    def target_names(self, node):
        """The names of the shape keys of a node."""
        return self.meshes[node["mesh"]].get("extras", {}).get("targetNames", []) if "mesh" in node else []

    def has_colours(self, material):
        """Whether a mesh with this material has colours of vertices."""
        at = self.materials.index(material)
        primitives = [primitive for mesh in self.meshes for primitive in mesh["primitives"]]
        return any(primitive.get("material") == at and "COLOR_0" in primitive["attributes"] for primitive in primitives)

    def bounds(self):
        """The corners of the box around everything, in metres with +Z up; None for nothing."""
        places = []
        for at, node in enumerate(self.nodes):
            if "mesh" not in node:
                continue
            matrix = self._skinned(node) if "skin" in node else self._world(at)
            for primitive in self.meshes[node["mesh"]]["primitives"]:
                found = self._accessors[primitive["attributes"]["POSITION"]]
                ends = list(zip(found["min"], found["max"]))
                places += [matrix @ Vector((x, y, z)) for x in ends[0] for y in ends[1] for z in ends[2]]
        if not places:
            return None
        upright = [(place.x, -place.z, place.y) for place in places]
        return [min(axis) for axis in zip(*upright)], [max(axis) for axis in zip(*upright)]

    def _object(self, node):
        primitives = self.meshes[node["mesh"]]["primitives"]
        used = {primitive["material"] for primitive in primitives if "material" in primitive}
        return {
            "name": node.get("name", ""),
            "vertices": sum(self._accessors[primitive["attributes"]["POSITION"]]["count"] for primitive in primitives),
            "triangles": sum(self._triangles(primitive) for primitive in primitives),
            "materials": sorted(self.materials[at].get("name", "") for at in used),
        }

    def _triangles(self, primitive):
        if primitive.get("mode", TRIANGLES) != TRIANGLES:
            return 0
        corners = primitive.get("indices", primitive["attributes"]["POSITION"])
        return self._accessors[corners]["count"] // 3

    def _world(self, at):
        matrix = self._local(self.nodes[at])
        while at in self._parents:
            at = self._parents[at]
            matrix = self._local(self.nodes[at]) @ matrix
        return matrix

    def _local(self, node):
        if "matrix" in node:
            return Matrix([node["matrix"][row::4] for row in range(4)])
        x, y, z, w = node.get("rotation", (0, 0, 0, 1))
        return Matrix.LocRotScale(
            Vector(node.get("translation", (0, 0, 0))), Quaternion((w, x, y, z)), Vector(node.get("scale", (1, 1, 1)))
        )

    def _skinned(self, node):
        """The matrix of a skinned mesh at rest. Its node's own does not count."""
        skin = self.skins[node["skin"]]
        view = self.json["bufferViews"][self._accessors[skin["inverseBindMatrices"]]["bufferView"]]
        numbers = struct.unpack_from("<16f", self.binary, view.get("byteOffset", 0))
        return self._world(skin["joints"][0]) @ Matrix([numbers[row::4] for row in range(4)])

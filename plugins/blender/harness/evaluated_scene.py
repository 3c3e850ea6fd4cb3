"""Gives the exporter what the scene shows: modifiers applied, shape keys kept, instances as objects.

The exporter applies modifiers at the cost of shape keys, and knows neither metaballs nor instances of geometry nodes
and particles. So each object gets its evaluated mesh before the export, and the exporter applies nothing.
"""

import array

import bpy

# Each becomes a node of the model, which the assets plugin refuses above this number.
MOST_INSTANCES = 50_000
OTHER_GEOMETRY = {"CURVES": "hair", "POINTCLOUD": "points", "VOLUME": "a volume", "GPENCIL": "grease pencil", "GREASEPENCIL": "grease pencil"}
CONVERTIBLE = {"CURVE", "SURFACE", "FONT"}


class EvaluatedScene:
    """What the scene shows before the export.

    `triangles` has the number by object, instances counted with the object that they repeat. `sources` leads from the
    name of an exported instance to that object. `shape_keys` has the names by object. `warnings` are entries of the
    inspection.
    """

    def __init__(self, failed):
        self.triangles, self.sources, self.shape_keys, self.warnings = {}, {}, {}, []
        self._failed = failed
        self._shown = []  # objects that show themselves
        self._instances = []  # (object, instancer, matrix, key of the mesh)
        self._look()

    @property
    def total(self):
        return sum(self.triangles.values())

    def apply(self):
        """Changes the scene into the one to export."""
        meshes = self._instanced_meshes()
        rigged = self._left_to_the_exporter()
        inside = {item for instancer in rigged for item in instancer.instance_collection.all_objects}
        modified = [item for item in {*self._shown, *inside} if item.type == "MESH" and _applicable(item)]
        with _without_skins(modified):
            # All are evaluated before any is changed, since modifiers may refer to other objects.
            applied = [(item, *self._evaluate(item)) for item in modified]
        # A curve or text shows its mesh as an instance of itself, and the exporter knows these.
        instances = [found for found in self._instances if found[1] not in rigged and not (found[0] == found[1] and found[0].type in CONVERTIBLE)]
        converted = [item for item in self._shown if item.type in CONVERTIBLE and item.modifiers]
        for item, mesh, shapes in applied:
            _replace(item, mesh, shapes)
        for item in converted:
            _convert(item)
        self._make_real(instances, meshes)
        shown = set(self._shown)
        for item in list(bpy.context.scene.objects):
            if item.type in {"MESH", "META"} | CONVERTIBLE and item not in shown and item.name not in self.sources:
                _hide(item)
        for item in shown:
            _show_armatures(item)
        bpy.context.view_layer.update()

    def _look(self):
        bpy.context.view_layer.update()
        counts, hidden = {}, []
        for entry in bpy.context.evaluated_depsgraph_get().object_instances:
            item = entry.object.original
            if entry.object.type in OTHER_GEOMETRY:
                what = OTHER_GEOMETRY[entry.object.type]
                self._warn("not_exported", item.name, f"{item.name} is {what}, which glTF can't hold.")
            if not entry.show_self:
                continue
            by = entry.parent.original if entry.is_instance and entry.parent else None
            # A curve shows its mesh as an instance of itself.
            if not entry.is_instance or by == item:
                if _is_hidden(item):
                    if item.type in {"MESH", "META"} | CONVERTIBLE and item not in hidden:
                        hidden.append(item)
                    continue
                if item not in self._shown:
                    self._shown.append(item)
            if entry.object.type != "MESH":
                continue
            key = entry.object.data.as_pointer()
            if key not in counts:
                counts[key] = _triangles(entry.object.data)
            self.triangles[item.name] = self.triangles.get(item.name, 0) + counts[key]
            if entry.is_instance and counts[key] > 0:
                self._instances.append((item, by, entry.matrix_world.copy(), key))
            elif not entry.is_instance and counts[key] == 0 and entry.object.data.vertices:
                self._warn("no_faces", item.name, f"{item.name} has no faces, so it is not in the model.")
            if any(abs(factor) < 1e-6 for factor in entry.matrix_world.to_scale()):
                self._warn("zero_scale", item.name, f"{item.name} is scaled to nothing.")
            if len(self._instances) > MOST_INSTANCES:
                raise self._failed("limit_exceeded", f"The scene has more than {MOST_INSTANCES} instances.")
        self.triangles = {name: number for name, number in self.triangles.items() if number > 0}
        for item in hidden:
            self._warn("hidden_object", item.name, f"{item.name} is hidden from render, so it is not in the model.")
        for item in self._shown:
            if item.type == "MESH" and item.data.shape_keys:
                keys = item.data.shape_keys.key_blocks
                self.shape_keys[item.name] = [key.name for key in keys if key != key.relative_key and not key.mute]

    def _warn(self, code, item, message):
        entry = {"code": code, "object": item, "message": message}
        if entry not in self.warnings:
            self.warnings.append(entry)

    def _instanced_meshes(self):
        """Meshes that stay, by the key of the evaluated ones, which do not."""
        wanted = {key for _, _, _, key in self._instances}
        meshes = {}
        if not wanted:
            return meshes
        for entry in bpy.context.evaluated_depsgraph_get().object_instances:
            if not entry.is_instance or entry.object.type != "MESH":
                continue
            key = entry.object.data.as_pointer()
            if key not in wanted or key in meshes:
                continue
            item = entry.object.original
            plain = item.type == "MESH" and not item.modifiers and not item.data.shape_keys
            meshes[key] = item.data if plain else bpy.data.meshes.new_from_object(entry.object)
        return meshes

    def _left_to_the_exporter(self):
        """Collection instances that move: as objects, they would stand still. The exporter knows these."""
        found = set()
        for by in {by for _, by, _, _ in self._instances if by and by.instance_type == "COLLECTION"}:
            inner = by.instance_collection.all_objects if by.instance_collection else ()
            if any(item.type == "ARMATURE" or (item.animation_data and item.animation_data.action) for item in inner):
                found.add(by)
        return found

    def _evaluate(self, item):
        """The evaluated mesh of an object, and its shape keys with their places; None where there are none."""
        mesh = _evaluated_mesh(item)
        keys = item.data.shape_keys
        if not keys or len(keys.key_blocks) < 2:
            return mesh, None
        kept = item.show_only_shape_key, item.active_shape_key_index
        item.show_only_shape_key = True
        shapes = []
        try:
            for at in range(len(keys.key_blocks)):
                item.active_shape_key_index = at
                shapes.append(_evaluated_mesh(item))
        finally:
            item.show_only_shape_key, item.active_shape_key_index = kept
            bpy.context.view_layer.update()
        if any(_topology(shape) != _topology(shapes[0]) for shape in shapes):
            return mesh, None
        bpy.data.meshes.remove(mesh)
        return shapes[0], [_places(shape) for shape in shapes]

    def _make_real(self, instances, meshes):
        for item, by, matrix, key in instances:
            made = bpy.data.objects.new(item.name, meshes[key])
            bpy.context.scene.collection.objects.link(made)
            if by is not None and by.name in bpy.context.scene.objects:
                inverse = by.matrix_world.inverted_safe()
                made.parent = by
                made.matrix_parent_inverse = inverse
                by.instance_type = "NONE"
            made.matrix_basis = matrix
            self.sources[made.name] = item.name


def _is_hidden(item):
    """Whether a person has left it out of the picture: itself, its collections, or as the original of instances."""
    collections = item.users_collection
    original = item.parent is not None and item.parent.instance_type in {"VERTS", "FACES"}
    return item.hide_render or original or (len(collections) > 0 and all(found.hide_render for found in collections))


def _triangles(mesh):
    corners = array.array("i", [0]) * len(mesh.polygons)
    mesh.polygons.foreach_get("loop_total", corners)
    return sum(corners) - 2 * len(corners)


def _applicable(item):
    """Whether the exporter would not show an object's modifiers."""
    return any(modifier.show_viewport and not _is_skin(item, modifier) for modifier in item.modifiers)


def _is_skin(item, modifier):
    """Whether the exporter makes a skin of a modifier."""
    return modifier.type == "ARMATURE" and modifier.object is not None and len(item.vertex_groups) > 0


class _without_skins:
    """Evaluates objects at rest: the skin of the model moves them."""

    def __init__(self, items):
        self._skins = [found for item in items for found in item.modifiers if _is_skin(item, found) and found.show_viewport]

    def __enter__(self):
        self._set(False)

    def __exit__(self, *_):
        self._set(True)

    def _set(self, shown):
        for modifier in self._skins:
            modifier.show_viewport = shown
        bpy.context.view_layer.update()


def _evaluated_mesh(item):
    graph = bpy.context.evaluated_depsgraph_get()
    return bpy.data.meshes.new_from_object(item.evaluated_get(graph), preserve_all_data_layers=True, depsgraph=graph)


def _topology(mesh):
    corners = array.array("i", [0]) * len(mesh.loops)
    mesh.loops.foreach_get("vertex_index", corners)
    return len(mesh.vertices), len(mesh.polygons), corners


def _places(mesh):
    places = array.array("f", [0.0]) * (3 * len(mesh.vertices))
    mesh.vertices.foreach_get("co", places)
    return places


def _replace(item, mesh, shapes):
    """Gives an object its evaluated mesh in the place of the modifiers."""
    before = item.data
    mesh.name = before.name
    for key in before.keys():
        mesh[key] = before[key]
    item.data = mesh
    for modifier in [found for found in item.modifiers if not _is_skin(item, found)]:
        item.modifiers.remove(modifier)
    if not shapes:
        return
    old = before.shape_keys
    for key, places in zip(old.key_blocks, shapes):
        made = item.shape_key_add(name=key.name, from_mix=False)
        made.data.foreach_set("co", places)
        made.slider_min, made.slider_max, made.mute = key.slider_min, key.slider_max, key.mute
        made.value = key.value
    blocks = item.data.shape_keys.key_blocks
    for key in old.key_blocks:
        blocks[key.name].relative_key = blocks[key.relative_key.name]
    if old.animation_data:
        _copy_animation(old.animation_data, item.data.shape_keys)


def _copy_animation(old, owner):
    made = owner.animation_data_create()
    made.action = old.action
    if hasattr(old, "action_slot") and old.action_slot:  # 4.4
        made.action_slot = old.action_slot
    for curve in old.drivers:
        made.drivers.from_existing(src_driver=curve)
    for track in old.nla_tracks:
        copy = made.nla_tracks.new()
        copy.name, copy.mute = track.name, track.mute
        for strip in track.strips:
            if strip.action:
                copy.strips.new(strip.name, int(strip.frame_start), strip.action)


def _convert(item):
    """Makes a mesh of a curve or text with modifiers. It keeps its name, place and animation."""
    layer = bpy.context.view_layer
    if item.name not in layer.objects:
        return
    for other in layer.objects:
        other.select_set(other == item)
    layer.objects.active = item
    bpy.ops.object.convert(target="MESH")


def _hide(item):
    if item.name in bpy.context.view_layer.objects:
        item.hide_set(True)


def _show_armatures(item):
    """A hidden armature would cost the model its skin, and has no geometry of its own."""
    for modifier in item.modifiers:
        if _is_skin(item, modifier) and not modifier.object.visible_get():
            armature = modifier.object
            armature.hide_viewport = False
            if armature.name not in bpy.context.view_layer.objects:
                bpy.context.scene.collection.objects.link(armature)
            armature.hide_set(False)
            bpy.context.view_layer.update()
            if not armature.visible_get() and bpy.context.scene.collection not in armature.users_collection:
                bpy.context.scene.collection.objects.link(armature)

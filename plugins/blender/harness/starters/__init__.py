"""Starters: ready-made parts, one program each, named after the starter's id."""

import importlib


def build(starter_id, job):
    """Makes a starter with the helper API `job`. Returns its one object, named after its id, at the origin."""
    module = importlib.import_module(f"starters.{starter_id.replace('-', '_')}")
    made = module.build(job)
    made.name = made.data.name = starter_id
    return made

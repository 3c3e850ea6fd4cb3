"""Starters: ready-made parts, one program each, named after the starter's id."""

import importlib


def build(starter_id):
    """Makes a starter and returns its one object, which is named after its id and stands on the origin."""
    import gameyard_job as job

    module = importlib.import_module(f"starters.{starter_id.replace('-', '_')}")
    made = module.build(job)
    made.name = made.data.name = starter_id
    return made

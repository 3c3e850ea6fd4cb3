"""Runs one job inside Blender: `blender … --python main.py -- INPUT OUTPUT`.

INPUT holds request.json, perhaps script.py and source.blend. OUTPUT takes the artifacts and outcome.json, which says
how it went. Nothing here guards against the script: that is the sandbox's part.
"""

import json
import os
import sys
import tempfile
import traceback

INPUT, OUTPUT = sys.argv[sys.argv.index("--") + 1 :][:2]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True


class JobFailed(Exception):
    """The job can't be completed; `code` is one of the API's error codes."""

    def __init__(self, code, message=""):
        super().__init__(message)
        self.code = code


def read(name):
    with open(os.path.join(INPUT, name), encoding="utf-8") as file:
        return file.read()


def finish(outcome):
    path = os.path.join(OUTPUT, "outcome.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(outcome, file)


def assert_complete():
    """Blender's exporter stands on numpy: better said before the script runs than after, in a traceback."""
    try:
        import numpy

        numpy.ndarray
    except Exception:
        raise JobFailed("blender_incomplete")


def run_script(text, job):
    """The user's script: `job` and `bpy` are there without an import.

    It is a file in a folder that it may write to, and has no arguments, as with `blender --python script.py`.
    """
    import bpy

    job.progress(0.3, "script")
    text = text.removeprefix("\ufeff")  # a byte order mark of an editor
    path = os.path.join(tempfile.mkdtemp(), "script.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    sys.argv = ["blender", "--background", "--python", path, "--"]
    try:
        code = compile(text, path, "exec")
        exec(code, {"__name__": "__main__", "__file__": path, "bpy": bpy, "job": job})
    except SystemExit as error:
        if error.code not in (None, 0):
            raise JobFailed("script_error", f"The script ended itself with {error.code!r}.")
    except MemoryError:
        raise JobFailed("limit_exceeded", "The script asked for more memory than a job may have.")
    except OSError as error:
        raise JobFailed("script_error", describe(error))
    except BaseException as error:  # whatever it is, it is the script's
        raise JobFailed("script_error", describe(error))


def describe(error):
    """The error, and the line of the script that it came from: what an author needs."""
    import version_differences

    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if os.path.basename(frame.filename) == "script.py"]
    place = f"line {lines[-1]}: " if lines else ""
    hint = version_differences.hint(f"{type(error).__name__}: {error}")
    return f"{place}{type(error).__name__}: {error}"[:1500] + (f". {hint}" if hint else "")


def prepare(request, job):
    """The scene that the script finds: an earlier job's, or an empty one with what the template builds."""
    import bpy

    if os.path.exists(os.path.join(INPUT, "source.blend")):
        bpy.ops.wm.open_mainfile(filepath=os.path.join(INPUT, "source.blend"), load_ui=False, use_scripts=False)
        job.log(f"opened the scene of {request.get('sourceJobId')}")
    else:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.context.scene.unit_settings.system = "METRIC"
        template = request.get("template")
        if template:
            job.progress(0.1, f"template {template}")
            module = __import__(f"templates.{template}", fromlist=["build"])
            module.build(job)
    for starter in request.get("starterAssets") or []:
        job.progress(0.2, f"starter {starter}")
        job.add_starter(starter)


def main():
    request = json.loads(read("request.json"))
    import artifacts
    import gameyard_job as job

    job.begin(request)
    sys.modules["job"] = job
    try:
        assert_complete()
        try:
            prepare(request, job)
        except JobFailed:
            raise
        except Exception as error:
            traceback.print_exc()
            raise JobFailed("template_error", f"{type(error).__name__}: {error}"[:2000])
        if request.get("script") is not None:
            run_script(request["script"], job)
        artifacts.write(request, job, OUTPUT, JobFailed)
        finish({"ok": True, "warnings": job.warnings})
        job.progress(1.0, "done")
    except JobFailed as error:
        print(f"error: {str(error) or error.code}")
        finish({"ok": False, "code": error.code, **({"message": str(error)} if str(error) else {})})
    except MemoryError:
        finish({"ok": False, "code": "limit_exceeded", "message": "The job asked for more memory than it may have."})
    except Exception as error:
        traceback.print_exc()
        finish({"ok": False, "code": "export_error", "message": f"{type(error).__name__}: {error}"[:2000]})


main()
# A thread that the script left behind would keep Blender running until the time limit.
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)

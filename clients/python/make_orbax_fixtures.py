"""Writes small checkpoints with Orbax: `python3 make_orbax_fixtures.py ARCHIVE.tar.gz TRUTH.json OLDER`.

Needs the packages of requirements-orbax.txt, and in the folder OLDER a version that writes fewer marks of completion:
`pip install --no-deps --target OLDER orbax-checkpoint==0.11.24 nest_asyncio`.
Each writer fills one folder as a training program fills a watched folder. Interrupted saves are real: the process is
killed in the middle of a save. `versions.json` records the versions of the libraries. TRUTH lists the tensors that Orbax
itself finds in the finished checkpoints. ARCHIVE and TRUTH lie in e2e/stage/fixtures.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import distributions, version
from typing import Any, Callable, Dict, Iterator, Tuple

# Before jax is imported: no accelerator, and two devices over which an array can be spread.
os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=2")

import jax
import jax.numpy as jnp
import numpy
import orbax.checkpoint as ocp
from orbax.checkpoint._src.path import atomicity

LIBRARIES = ("orbax-checkpoint", "jax", "tensorstore", "numpy")
#: Names of dtypes as safetensors has them.
DTYPES = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "int64": "I64",
    "int32": "I32",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
    "complex64": "C64",
    "float64": "F64",
}


def _params() -> Dict[str, Any]:
    """Returns arrays with varied values, too large for Orbax to keep them inside its index."""
    kernel = jax.random.normal(jax.random.key(7), (32, 16))
    return {
        "dense": {"kernel": kernel, "bias": jnp.arange(16, dtype=jnp.float32)},
        "embed": {"table": kernel.astype(jnp.bfloat16)},
    }


def _state() -> Dict[str, Any]:
    """Returns every kind of leaf that a training state has."""
    params = _params()
    moments = [jax.tree.map(lambda one: one * 0.1, params), None]
    return {"params": params, "opt_state": moments, "step": 7, "scale": numpy.float32(0.5), "empty": {}, "seen": numpy.arange(3)}


def _spread() -> Dict[str, Any]:
    """Returns an array that is split over two devices, and a scalar that is not split."""
    mesh = jax.make_mesh((2,), ("x",))
    half = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    return {"weight": jax.device_put(jnp.arange(1024.0).reshape(64, 16), half), "step": jnp.int32(2)}


def _dtypes() -> Dict[str, Any]:
    numpys = {"float64", "int64"}
    return {
        DTYPES[name].lower(): numpy.ones((2, 3), name) if name in numpys else jnp.ones((2, 3), name) for name in DTYPES
    }


def _write_standard(folder: str) -> None:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(f"{folder}/2", {"params": _params(), "step": 2})


def _write_pytree(folder: str) -> None:
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(f"{folder}/step_2", _state())


def _write_spread(folder: str) -> None:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(f"{folder}/step_2", _spread())


def _write_dtypes(folder: str) -> None:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(f"{folder}/2", _dtypes())


def _handled(folder: str, **wishes: Any) -> None:
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**wishes)) as checkpointer:
        checkpointer.save(f"{folder}/step_2", _state())


def _write_zarr(folder: str) -> None:
    """Writes one folder for each array."""
    _handled(folder, use_ocdbt=False)


def _write_zarr3(folder: str) -> None:
    _handled(folder, use_ocdbt=False, use_zarr3=True)


def _write_ocdbt_zarr3(folder: str) -> None:
    _handled(folder, use_ocdbt=True, use_zarr3=True)


def _steps(folder: str, numbers: range, **wishes: Any) -> None:
    options = ocp.CheckpointManagerOptions(enable_async_checkpointing=False, **wishes)
    with ocp.CheckpointManager(folder, options=options) as manager:
        for step in numbers:
            items = ocp.args.Composite(state=ocp.args.StandardSave(_params()), data=ocp.args.JsonSave({"shard": step}))
            manager.save(step, args=items, metrics={"loss": 1 / (step + 1), "accuracy": 0.5})


def _write_manager(folder: str) -> None:
    best = {"best_fn": lambda metrics: metrics["loss"], "best_mode": "min"}
    _steps(folder, range(2, 8), save_interval_steps=2, max_to_keep=2, **best)


def _write_manager_named(folder: str) -> None:
    _steps(folder, range(2, 4), step_prefix="ckpt", step_format_fixed_length=8, max_to_keep=1)


#: Commits as on object storage: the folder has its final name at once, and a success file is written last.
COMMIT_FILE = {"temporary_path_class": atomicity.CommitFileTemporaryPath}


def _write_commit_file(folder: str) -> None:
    _steps(folder, range(2, 3), **COMMIT_FILE)


def _kill_before(owner: Any, name: str, when: Callable[[Any], bool]) -> None:
    """Kills this process with SIGKILL, as a reclaimed machine is, at the first call for which `when` returns True."""
    real = getattr(owner, name)

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        if when(self):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, *arguments, **named)

    setattr(owner, name, call)


def _of_step(path: Any) -> bool:
    """Returns whether `path` is step 3 of a manager, and not one of its items."""
    return path.get_final().name == "3"


def _of_state(path: Any) -> bool:
    return path.get_final().name == "state" and path.get_final().parent.name.startswith("3")


def _killed(what: str, folder: str) -> None:
    """Finishes step 2 and is killed in step 3. When `what` ends with `late`, all of it is written and nothing
    committed."""
    commit_file = COMMIT_FILE if what.startswith("commit-file") else {}
    _steps(folder, range(2, 3), **commit_file)
    owner = atomicity.CommitFileTemporaryPath if commit_file else atomicity.AtomicRenameTemporaryPath
    _kill_before(owner, "finalize", _of_step if what.endswith("late") else _of_state)
    _steps(folder, range(3, 4), **commit_file)


def _write_killed(what: str) -> Callable[[str], None]:
    def write(folder: str) -> None:
        ended = subprocess.run([sys.executable, os.path.abspath(__file__), "--killed", what, folder])
        if ended.returncode != -signal.SIGKILL:
            raise RuntimeError(f"{what} was not killed: it ended with {ended.returncode}")

    return write


def _write_older(what: str) -> Callable[[str], None]:
    """Returns a writer that runs the version in OLDER, which writes no success file where it can rename."""

    def write(folder: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.environ["OLDER_ORBAX"]}
        subprocess.run([sys.executable, os.path.abspath(__file__), "--write", what, folder], check=True, env=environment)

    return write


WRITERS: Dict[str, Callable[[str], None]] = {
    "standard": _write_standard,
    "pytree": _write_pytree,
    "spread": _write_spread,
    "dtypes": _write_dtypes,
    "zarr": _write_zarr,
    "zarr3": _write_zarr3,
    "ocdbt-zarr3": _write_ocdbt_zarr3,
    "manager": _write_manager,
    "manager-named": _write_manager_named,
    "commit-file": _write_commit_file,
    "killed-late": _write_killed("rename-late"),
    "killed-early": _write_killed("rename-early"),
    "commit-file-killed-late": _write_killed("commit-file-late"),
    "commit-file-killed-early": _write_killed("commit-file-early"),
    "older-pytree": _write_older("pytree"),
    "older-manager": _write_older("manager"),
    "older-commit-file": _write_older("commit-file"),
}


# Reader: lists the tensors that Orbax itself finds.


def _flat(value: Any, path: Tuple[str, ...] = ()) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _flat(item, (*path, str(index)))
    else:
        yield ".".join(path), value


def _tensors(folder: str) -> Iterator[Dict[str, Any]]:
    """Lists the tensors by reading all of them back, which also proves that they can be read."""
    restored = ocp.PyTreeCheckpointer().restore(folder)
    about = dict(_flat(ocp.PyTreeCheckpointer().metadata(folder).item_metadata.tree))
    for name, value in _flat(restored):
        if value is None:
            continue
        array = numpy.asarray(value)
        dtype = str(about[name].dtype)
        yield {"name": name, "dtype": DTYPES[dtype], "shape": list(array.shape), "sizeBytes": array.size * jnp.dtype(dtype).itemsize}


def _truths(root: str) -> Dict[str, Any]:
    found = {}
    for parent, _, names in os.walk(root):
        if "_METADATA" in names and ".orbax-checkpoint-tmp" not in parent and "killed" not in parent:
            rows = sorted(_tensors(parent), key=lambda row: row["name"])
            found[os.path.relpath(os.path.join(parent, "_METADATA"), root)] = {"tensors": rows}
    return dict(sorted(found.items()))


def _nameless(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def _versions(older: str) -> Dict[str, str]:
    found = {name: version(name) for name in LIBRARIES}
    [before] = distributions(name="orbax-checkpoint", path=[older])
    return {**found, "orbax-checkpoint (older-*)": before.version}


def make(archive: str, truth: str, older: str) -> None:
    os.environ["OLDER_ORBAX"] = older
    # Orbax writes the path of this folder into its files.
    with tempfile.TemporaryDirectory(prefix="orbax-") as folder:
        for name, write in WRITERS.items():
            os.mkdir(os.path.join(folder, name))
            write(os.path.join(folder, name))
        with open(truth, "w", encoding="utf-8") as file:
            json.dump(_truths(folder), file, separators=(",", ":"), sort_keys=True)
            file.write("\n")
        with open(os.path.join(folder, "versions.json"), "w", encoding="utf-8") as file:
            json.dump(_versions(older), file, indent=2)
        with tarfile.open(archive, "w:gz", compresslevel=9) as packed:
            packed.add(folder, arcname=".", filter=_nameless)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--killed"]:
        _killed(*sys.argv[2:4])
    elif sys.argv[1:2] == ["--write"]:
        WRITERS[sys.argv[2]](sys.argv[3])
    elif len(sys.argv) == 4:
        make(*[os.path.abspath(path) for path in sys.argv[1:]])
    else:
        sys.exit("python3 make_orbax_fixtures.py ARCHIVE.tar.gz TRUTH.json OLDER")

"""Writes test data for storage/inspect: `python3 make_inspect_fixtures.py REAL.tar.gz FORMATS.tar.gz TRUTH.json`.

REAL is the archive of make_fixtures.py; it is only read. FORMATS is written anew: small files of every format, with the
edge cases of each. TRUTH is written too: for every file of both archives, the content that the library of its format finds.
Needs the packages of requirements-real.txt, and gguf 0.19. FORMATS and TRUTH lie in e2e/stage/fixtures.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
import tarfile
import tempfile
import warnings
from importlib.metadata import version
from typing import Any, Callable, Dict, Iterator, List, Tuple

os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import gguf
import numpy
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from make_fixtures import _llama, _nameless, _state, train_transformers

LIBRARIES = ("torch", "safetensors", "numpy", "transformers", "gguf")
#: Names of dtypes as safetensors has them.
DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
    torch.complex64: "C64",
    torch.complex128: "C128",
}
NUMPY = {"f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8", "u1": "U8", "b1": "BOOL", "c8": "C64"}


# Writers of the fixtures.


def _every_dtype() -> Dict[str, Any]:
    torch.manual_seed(7)
    return {f"layers.{index}.{DTYPES[dtype].lower()}": torch.ones(2, 3).to(dtype) for index, dtype in enumerate(DTYPES)}


def _write_safetensors(folder: str) -> None:
    tensors = {name: tensor for name, tensor in _every_dtype().items() if tensor.dtype != torch.complex128}
    tensors["scalar"] = torch.tensor(1.5)
    tensors["empty"] = torch.zeros(0, 4)
    save_file(tensors, f"{folder}/dtypes.safetensors", metadata={"format": "pt", "note": "line\nfeed \u202e turned"})
    save_file({}, f"{folder}/nothing.safetensors")


def _gguf(path: str, order: Any) -> None:
    writer = gguf.GGUFWriter(path, "llama", endianess=order)
    writer.add_name("tiny")
    writer.add_block_count(1)
    writer.add_context_length(2048)
    writer.add_float32("test.float", 0.5)
    writer.add_bool("test.bool", True)
    writer.add_uint64("test.large", 2**60)
    writer.add_token_list([f"token{index}" for index in range(300)])
    writer.add_token_scores([0.5] * 300)
    rows = numpy.arange(4 * 256, dtype=numpy.float32).reshape(4, 256) / 256
    writer.add_tensor("token_embd.weight", rows)
    writer.add_tensor("blk.0.attn_norm.weight", numpy.ones(256, dtype=numpy.float32))
    writer.add_tensor("blk.0.attn_q.weight", rows.astype(numpy.float16))
    if order == gguf.GGUFEndian.LITTLE:
        for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.BF16):
            writer.add_tensor(f"blk.0.{kind.name.lower()}.weight", gguf.quants.quantize(rows, kind), raw_dtype=kind)
        for kind in (gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K, gguf.GGMLQuantizationType.IQ4_NL):
            elements, size = gguf.constants.GGML_QUANT_SIZES[kind]
            packed = numpy.zeros((4, 256 // elements * size), dtype=numpy.uint8)
            writer.add_tensor(f"blk.0.{kind.name.lower()}.weight", packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_gguf(folder: str) -> None:
    _gguf(f"{folder}/v3.gguf", gguf.GGUFEndian.LITTLE)
    _gguf(f"{folder}/big-endian.gguf", gguf.GGUFEndian.BIG)
    with open(f"{folder}/v3.gguf", "rb") as file:
        content = file.read()
    # Version 2 differs from version 3 only in the version field.
    with open(f"{folder}/v2.gguf", "wb") as file:
        file.write(content[:4] + struct.pack("<I", 2) + content[8:])


def _write_torch(folder: str) -> None:
    shared = torch.arange(10)
    tied = torch.ones(3, 2)
    varied = {
        "dtypes": _every_dtype(),
        "parameter": torch.nn.Parameter(torch.zeros(2, 3)),
        "buffer": torch.nn.Buffer(torch.zeros(2)),
        "sparse": torch.eye(3).to_sparse(),
        "view": shared[2:5],
        "transposed": torch.zeros(4, 2).t(),
        "embed.weight": tied,
        "head.weight": tied,
        "nested": [torch.zeros(1), (torch.zeros(2), {"deep": torch.zeros(3, 3)})],
        "step": 7,
        "loss": 0.25,
        "text": "words",
        "none": None,
        "numbers": {1: torch.zeros(1)},
    }
    torch.save(varied, f"{folder}/varied.pt")
    torch.save(varied, f"{folder}/protocol-4.pt", pickle_protocol=4)
    # The legacy format has no storage types for the newer dtypes and cannot read them back.
    old = {name: tensor for name, tensor in varied["dtypes"].items() if DTYPES[tensor.dtype][:3] not in ("F8_", "U64", "U32", "U16")}
    torch.save({**varied, "dtypes": old}, f"{folder}/legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(torch.nn.Sequential(torch.nn.Linear(2, 3)), f"{folder}/whole-module.pt")
    torch.save(torch.ones(5, dtype=torch.bfloat16), f"{folder}/one-tensor.pt")
    torch.save(_state(), f"{folder}/step_3.pt")


def _write_numpy(folder: str) -> None:
    numpy.save(f"{folder}/plain.npy", numpy.arange(6, dtype="<f4").reshape(2, 3))
    numpy.save(f"{folder}/fortran.npy", numpy.asfortranarray(numpy.zeros((3, 5), dtype="<f2")))
    numpy.save(f"{folder}/big.npy", numpy.zeros(4, dtype=">i2"))
    numpy.save(f"{folder}/scalar.npy", numpy.float64(2.5))
    numpy.save(f"{folder}/structured.npy", numpy.zeros(3, dtype=[("a", "<f4"), ("b", "<i8", (2,))]))
    numpy.save(f"{folder}/objects.npy", numpy.array([{}, None], dtype=object), allow_pickle=True)
    arrays = {"weight": numpy.zeros((64, 64), dtype="<f4"), "bias": numpy.ones(64, dtype="<f8"), "mask": numpy.ones(3, dtype=bool)}
    numpy.savez(f"{folder}/stored.npz", **arrays)
    numpy.savez_compressed(f"{folder}/deflated.npz", **arrays)


def _write_dcp(folder: str) -> None:
    import torch.distributed.checkpoint as dcp

    state = {"model": {"a": torch.ones(4, 2, dtype=torch.bfloat16), "b": torch.ones(3).to(torch.float8_e4m3fn)}, "epoch": 2}
    dcp.save(state, checkpoint_id=f"{folder}/step_9", no_dist=True)


def _write_trainer(folder: str) -> None:
    wishes = {"logging_strategy": "steps", "logging_steps": 1, "max_steps": 6, "save_steps": 6}
    train_transformers(folder, **wishes)
    from transformers import TrainerState

    state = TrainerState(global_step=3, max_steps=9, epoch=0.5)
    losses = [2.5, float("nan"), float("inf")]
    state.log_history = [{"step": step + 1, "loss": loss, "learning_rate": 1e-3} for step, loss in enumerate(losses)]
    state.log_history.append({"step": 3, "eval_loss": 1.25, "eval_runtime": 0.1})
    state.save_to_json(f"{folder}/trainer_state.json")


def _write_shards(folder: str) -> None:
    _llama().save_pretrained(f"{folder}/model", max_shard_size="2KB")


WRITERS: Dict[str, Callable[[str], None]] = {
    "safetensors": _write_safetensors,
    "gguf": _write_gguf,
    "torch": _write_torch,
    "numpy": _write_numpy,
    "dcp": _write_dcp,
    "trainer": _write_trainer,
    "shards": _write_shards,
}


# Readers: each returns what the library that owns the format finds.


def _row(name: str, dtype: str, shape: Any, size: int) -> Dict[str, Any]:
    return {"name": name, "dtype": dtype, "shape": [int(length) for length in shape], "sizeBytes": int(size)}


def _flat(value: Any, path: str = "") -> Iterator[Tuple[str, Any]]:
    below = f"{path}." if path else ""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{below}{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _flat(item, f"{below}{index}")


def _of_torch(path: str) -> Dict[str, Any]:
    rows = []
    for name, tensor in _flat(torch.load(path, weights_only=False, map_location="cpu")):
        size = tensor._indices().nbytes + tensor._values().nbytes if tensor.is_sparse else tensor.numel() * tensor.element_size()
        rows.append(_row(name, DTYPES[tensor.dtype], tensor.shape, size))
    return {"tensors": rows}


def _of_safetensors(path: str) -> Dict[str, Any]:
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    rows = []
    with safe_open(path, framework="pt") as opened:
        for name in opened.keys():
            tensor = opened.get_tensor(name)
            begin, _ = header[name]["data_offsets"]
            rows.append({**_row(name, DTYPES[tensor.dtype], tensor.shape, tensor.numel() * tensor.element_size()), "offset": 8 + length + begin})
        return {"tensors": rows, "metadata": opened.metadata() or {}}


def _of_gguf(path: str) -> Dict[str, Any]:
    reader = gguf.GGUFReader(path)
    # GGUF stores dimensions fastest first; all other formats list them slowest first.
    rows = [
        {**_row(one.name, one.tensor_type.name, list(one.shape)[::-1], one.n_bytes), "offset": int(one.data_offset)}
        for one in reader.tensors
    ]
    plain = {name: field.contents() for name, field in reader.fields.items() if not isinstance(field.contents(), list) and not name.startswith("GGUF.")}
    return {"tensors": rows, "metadata": {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in plain.items()}}


def _array(name: str, array: Any) -> Dict[str, Any]:
    return _row(name, NUMPY.get(array.dtype.str[1:], "OPAQUE"), array.shape, array.nbytes)


def _of_npz(path: str) -> Dict[str, Any]:
    with numpy.load(path) as arrays:
        return {"tensors": [_array(name, arrays[name]) for name in arrays.files]}


def _of_npy(path: str) -> Dict[str, Any]:
    return {"tensors": [_array("", numpy.load(path, allow_pickle=True))]}


def _of_dcp(path: str) -> Dict[str, Any]:
    with open(path, "rb") as file:
        metadata = pickle.load(file)
    rows: List[Dict[str, Any]] = []
    for name, about in metadata.state_dict_metadata.items():
        if not hasattr(about, "properties"):
            continue
        dtype = about.properties.dtype
        rows.append(_row(name, DTYPES[dtype], about.size, about.size.numel() * dtype.itemsize))
    return {"tensors": rows, "files": sorted({info.relative_path for info in metadata.storage_data.values()})}


def _of_trainer(path: str) -> Dict[str, Any]:
    from transformers import TrainerState

    state = TrainerState.load_from_json(path)
    finite = lambda value: value if isinstance(value, (int, float)) and numpy.isfinite(value) else None  # noqa: E731
    points = [{"step": row["step"], "loss": finite(row.get("loss")), "learningRate": finite(row.get("learning_rate"))} for row in state.log_history if "loss" in row]
    return {"globalStep": state.global_step, "points": points}


def _truth_of(path: str) -> Any:
    name = os.path.basename(path)
    if name == "trainer_state.json":
        return _of_trainer(path)
    if name == ".metadata":
        return _of_dcp(path)
    readers: Dict[str, Callable[[str], Dict[str, Any]]] = {".safetensors": _of_safetensors, ".gguf": _of_gguf, ".npz": _of_npz, ".npy": _of_npy}
    readers.update(dict.fromkeys((".pt", ".pth", ".bin", ".ckpt", ".pkl"), _of_torch))
    reader = readers.get(os.path.splitext(name)[1])
    return None if reader is None else reader(path)


def _truths(folder: str) -> Dict[str, Any]:
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            truth = _truth_of(os.path.join(parent, name))
            if truth is not None:
                found[os.path.relpath(os.path.join(parent, name), folder)] = truth
    return dict(sorted(found.items()))


def make(real: str, formats: str, truth: str) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as elsewhere:
        os.chdir(elsewhere)
        with tarfile.open(real) as packed:
            packed.extractall(before, filter="data")
        for name, write in WRITERS.items():
            os.mkdir(os.path.join(folder, name))
            write(os.path.join(folder, name))
        with open(os.path.join(folder, "versions.json"), "w", encoding="utf-8") as file:
            json.dump({name: version(name) for name in LIBRARIES}, file, indent=2)
        with tarfile.open(formats, "w:gz", compresslevel=9) as packed:
            packed.add(folder, arcname=".", filter=_nameless)
        with open(truth, "w", encoding="utf-8") as file:
            json.dump({"real-checkpoints": _truths(before), "inspect-formats": _truths(folder)}, file, separators=(",", ":"), sort_keys=True)
            file.write("\n")
        os.chdir(os.path.dirname(formats))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) != 4:
        sys.exit("python3 make_inspect_fixtures.py REAL.tar.gz FORMATS.tar.gz TRUTH.json")
    make(*[os.path.abspath(path) for path in sys.argv[1:]])

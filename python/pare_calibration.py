"""Calibrates an ONNX model for `pare quantize` on samples that come from Python, one at a time.

    import pare_calibration

    def samples():
        for text in texts:
            ids = tokenizer(text)["input_ids"]
            yield {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64)}

    pare_calibration.calibrate("model.onnx", samples(), "model.stats")

and then `pare quantize model.onnx --statistics model.stats -o model_int8.onnx`. The file is the one that `pare calibrate` would
write for the same arrays, to the bit. A sample is a mapping from input name to array, or the array of a model with one input;
samples may differ in length and hold several rows. None is kept, so a generator over any amount of data does.

Needs NumPy and libpare.so, which is looked for under the name in PARE_LIBRARY, beside this file and in the folder above, and
where the system looks for libraries.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Calibration", "Input", "PareError", "Result", "calibrate"]

# ONNX's numbers of element types (TensorProto.DataType).
_TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
    12: "uint32", 13: "uint64",
}
_INPUT_ERROR, _SYSTEM_ERROR = 3, 6


class PareError(Exception):
    """What is wrong, where, and the way out, in one line. `code` is the exit code that the program `pare` would have."""

    def __init__(self, message: str, code: int = _INPUT_ERROR) -> None:
        super().__init__(message)
        self.code = code


class Input(NamedTuple):
    """What the model takes. `shape` is None for any rank; its free dimensions are None. `dtype` is None for what NumPy lacks."""

    name: str
    dtype: np.dtype | None
    shape: tuple[int | None, ...] | None


class Result(NamedTuple):
    samples: int  # measured; rows that the model answers independently count one each
    tensors: int


class _Array(ctypes.Structure):  # pare_array of pare/c.h
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    ]


@functools.cache
def _library() -> ctypes.CDLL:
    here = Path(__file__).resolve().parent
    named = os.environ.get("PARE_LIBRARY")
    found = [str(p / "libpare.so") for p in (here, here.parent) if (p / "libpare.so").exists()]
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # as `pare` does: else ONNX Runtime reports usage and leaves files behind
    try:
        library = ctypes.CDLL(named or (found[0] if found else "libpare.so"))
        handle, text = ctypes.c_void_p, ctypes.c_char_p
        for name, result, arguments in (
            ("last_error", text, []),
            ("calibration_open", ctypes.c_int, [text, text, text, ctypes.c_int, ctypes.POINTER(handle)]),
            ("calibration_inputs", ctypes.c_size_t, [handle]),
            ("calibration_input", ctypes.c_int, [handle, ctypes.c_size_t, ctypes.POINTER(_Array)]),
            ("calibration_add", ctypes.c_int, [handle, text, ctypes.POINTER(_Array), ctypes.c_size_t]),
            ("calibration_save", ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64)]),
            ("calibration_close", None, [handle]),
        ):
            function = getattr(library, "pare_" + name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as e:
        raise PareError(f"libpare.so cannot be loaded: {e}; set PARE_LIBRARY to its path", _SYSTEM_ERROR) from None
    return library


def _check(code: int) -> None:
    if code:
        raise PareError(_library().pare_last_error().decode(errors="replace"), code)


def _converted(value: Any, wanted: Input) -> np.ndarray:
    """The value as the model takes it: dense, of its type, with a leading axis of 1 where it came without one. Never rescaled."""
    array = np.asarray(value)
    if wanted.shape and array.ndim == len(wanted.shape) - 1 and wanted.shape[0] in (None, 1):
        array = array[np.newaxis]
    if wanted.dtype is None:
        raise PareError("the model takes a type that NumPy lacks", 4)
    if array.dtype == wanted.dtype:
        return np.asarray(array, order="C")
    refusal = PareError(f"is {array.dtype}, the model takes {wanted.dtype}")
    floats = array.dtype.kind == "f" and wanted.dtype.kind == "f"
    if not floats and not (array.dtype.kind in "iub" and wanted.dtype.kind in "iub"):
        raise refusal  # integers as floats are often pixels that were not scaled
    with np.errstate(over="ignore"):
        made = np.asarray(array.astype(wanted.dtype), order="C")
    if floats and bool((np.isinf(made) & np.isfinite(array)).any()) or not floats and not np.array_equal(made, array):
        raise PareError(f"{refusal}, which cannot hold its values")
    return made


class Calibration:
    """A calibration under way: `add` samples, then `save`. As a context manager it frees its memory at the end of the block."""

    def __init__(
        self, model: str | os.PathLike[str], output: str | os.PathLike[str], *, shape: str | None = None, threads: int = 0
    ) -> None:
        self._handle = ctypes.c_void_p()
        self._library = _library()
        files = os.fsencode(model), os.fsencode(output)
        size = shape.encode() if shape else None
        _check(self._library.pare_calibration_open(*files, size, threads, ctypes.byref(self._handle)))
        self._added = 0
        self.inputs: list[Input] = []
        for i in range(self._library.pare_calibration_inputs(self._handle)):
            port = _Array()
            _check(self._library.pare_calibration_input(self._handle, i, ctypes.byref(port)))
            dims = None if port.rank < 0 else tuple(None if d < 0 else d for d in port.shape[: port.rank])
            kind = np.dtype(_TYPES[port.type]) if port.type in _TYPES else None
            self.inputs.append(Input(port.name.decode(), kind, dims))

    def add(self, sample: Mapping[str, Any] | Any) -> None:
        """Measures one sample. After an error the calibration cannot be saved: part of the sample is counted."""
        if not self._handle:
            raise PareError("the calibration is closed", 2)
        try:
            self._add(sample)
        except BaseException:
            self.close()
            raise
        self._added += 1

    def save(self) -> Result:
        """Writes the statistics file, whole or not at all."""
        if not self._handle:
            raise PareError("the calibration is closed", 2)
        samples, tensors = ctypes.c_int64(), ctypes.c_int64()
        _check(self._library.pare_calibration_save(self._handle, ctypes.byref(samples), ctypes.byref(tensors)))
        return Result(samples.value, tensors.value)

    def close(self) -> None:
        if self._handle:
            self._library.pare_calibration_close(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self) -> Calibration:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def _add(self, sample: Mapping[str, Any] | Any) -> None:
        place = f"sample '{self._added}'"
        if not isinstance(sample, Mapping):
            if len(self.inputs) != 1:
                raise PareError(f"{place}: is one array, the model has the inputs {self._names()}; give a dict")
            sample = {self.inputs[0].name: sample}
        missing = [i.name for i in self.inputs if i.name not in sample]
        unknown = [str(name) for name in sample if name not in {i.name for i in self.inputs}]
        if unknown:
            raise PareError(f"{place}: the model has no input {', '.join(map(repr, unknown))}; it takes {self._names()}")
        if missing:
            raise PareError(f"{place}: has no array for the model's input {', '.join(map(repr, missing))}")
        kept = []  # what the pointers below point to
        arrays = (_Array * len(self.inputs))()
        for slot, wanted in zip(arrays, self.inputs, strict=True):
            try:
                array = _converted(sample[wanted.name], wanted)
            except (PareError, TypeError, ValueError) as e:
                raise PareError(f"{place}: array '{wanted.name}': {e}", getattr(e, "code", _INPUT_ERROR)) from None
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)
            kept.append((array, shape))
            slot.name = wanted.name.encode()
            slot.type = next(number for number, name in _TYPES.items() if np.dtype(name) == array.dtype)
            slot.rank, slot.shape, slot.data = array.ndim, shape, array.ctypes.data
        _check(self._library.pare_calibration_add(self._handle, str(self._added).encode(), arrays, len(arrays)))

    def _names(self) -> str:
        return ", ".join(repr(i.name) for i in self.inputs)


def calibrate(
    model: str | os.PathLike[str],
    samples: Iterable[Mapping[str, Any] | Any],
    output: str | os.PathLike[str],
    *,
    shape: str | None = None,
    threads: int = 0,
    progress: Callable[[int, int | None], object] | None = None,
) -> Result:
    """Measures the model's tensors over all samples and writes the statistics file `output`.

    shape: "1x3x544x960" where `pare quantize` will be given that --shape, or will run on images of a model whose size is free.
    threads: 0 for all processors. progress: called after each sample with the number done and len(samples), None if it has none.
    Raises PareError, and what `samples` raises; no file is written then.
    """
    total = len(samples) if hasattr(samples, "__len__") else None
    with Calibration(model, output, shape=shape, threads=threads) as calibration:
        for done, sample in enumerate(samples, 1):
            calibration.add(sample)
            if progress:
                progress(done, total)
        return calibration.save()

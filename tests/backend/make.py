"""Writes ONNX's backend node tests into the folder given: python make.py FOLDER.

For each case NAME.onnx; where its tensors are numbers also NAME.npz, with inputs i0, i1, ... and outputs o0, o1, ... in the
model's order. cases.txt holds one line for each case: its name, then "run", or why it has no data.
"""

import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

# Left out altogether: what pare does not claim to read.
OTHER_DOMAINS = {
    "ai.onnx.ml": "classical machine learning, not a network",
    "ai.onnx.preview.training": "training steps",
}
NUMPY_KINDS = "biuf"


def domains(graph):
    for node in graph.node:
        yield node.domain
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from domains(attribute.g)


def array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def no_data(arrays):
    """Why these arrays are no tensors of numbers; "" where they are."""
    for value in arrays:
        if isinstance(value, (list, dict)) or value is None:
            return "sequence or optional"
        dtype = np.asarray(value).dtype
        if dtype.kind in "OUS":
            return "strings"
        if dtype.kind not in NUMPY_KINDS or dtype.isbuiltin != 1:  # 2: an extension such as float8
            return f"{dtype} is no type of NumPy"
    return ""


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    warnings.simplefilter("ignore", RuntimeWarning)  # the suite divides by zero on purpose
    counts, lines = Counter(), []
    for case in collect_testcases(None):
        other = [OTHER_DOMAINS[d] for d in domains(case.model.graph) if d in OTHER_DOMAINS]
        if other:
            counts["left out: " + other[0]] += 1
            continue
        inputs, outputs = ([array(v) for v in values] for values in case.data_sets[0])
        why = no_data([*inputs, *outputs])
        onnx.save(case.model, folder / f"{case.name}.onnx")
        if not why:
            arrays = {f"i{k}": v for k, v in enumerate(inputs)} | {f"o{k}": v for k, v in enumerate(outputs)}
            np.savez(folder / f"{case.name}.npz", **arrays)
        lines.append(f"{case.name}\t{why or 'run'}\n")
        counts["without data: " + why if why else "with data"] += 1
    (folder / "cases.txt").write_text("".join(sorted(lines)))
    for what, count in sorted(counts.items()):
        print(f"{count:5} {what}")


if __name__ == "__main__":
    main()

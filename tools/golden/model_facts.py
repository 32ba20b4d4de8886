"""Writes tests/golden/api/inspect_*.txt: range figures of small weights by numpy, and facts of the shared models by onnx and ONNX
Runtime (shapes come from a run, not from inference).

Run: ~/.cache/pare/venv/bin/python tools/golden/model_facts.py SHARED_FOLDER    (onnx 1.23, onnxruntime 1.32, numpy)
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/api"
SHARED = pathlib.Path(sys.argv[1]) / "data"
MODELS = ["lab/mlp_k1", "lab/mlp_k256", "lab/mlp_k1024", "models/yolov8n_coco", "models/efficientnet_lite0", "models/yolov8n_coco_dynamic_int8",
          "peers/efficientnet_lite0_nncf", "peers/efficientnet_lite0_onnxruntime", "peers/efficientnet_lite0_quark_adaround",
          "peers/yolov8n_nncf_mixed", "peers/yolov8n_onnxruntime_documented", "peers/yolov8n_onnxruntime_entropy_tail_float"]


def figures(w, axis):
    """ratio, zero channels, share zero / zero per channel / zero per tensor, levels per channel / per tensor, not finite."""
    rows = np.moveaxis(w, axis, 0).reshape(w.shape[axis], -1).astype(np.float32)
    bad = ~np.isfinite(rows)
    amax = np.where(bad, 0, np.abs(rows)).max(1)
    alive = amax > 0
    ratio = float(amax.max()) / float(np.median(amax[alive].astype(np.float64))) if alive.any() else 0

    def numbers(scale):
        with np.errstate(all="ignore"):
            return np.where(scale[:, None] > 0, np.rint(rows / scale[:, None]), 0)

    own = numbers(amax / np.float32(127))
    common = numbers(np.full_like(amax, amax.max() / np.float32(127)))
    levels = [min((len(set(q[c][~bad[c]])) for c in np.flatnonzero(alive)), default=0) for q in (own, common)]
    share = [float((q[~bad] == 0).mean()) for q in (rows, own, common)]
    return [ratio, int((~alive).sum()), *share, *levels, int(bad.sum())]


def text(values):
    return " ".join(repr(v) for v in values)


def small_weights():
    rng = np.random.default_rng(11)
    cases = {"conv": (rng.normal(0, .1, (6, 4, 3, 3)), 0), "matmul": (rng.normal(0, 1, (8, 5)), 1), "transposed": (rng.normal(0, 1, (3, 4, 2, 2)), 1),
             "outlier": (rng.normal(0, 1, (32, 16)), 1), "pruned": (rng.normal(0, 1, (5, 8)), 0), "zeros": (np.zeros((3, 4)), 0),
             "one_channel": (np.arange(16.).reshape(1, 16), 0), "ties": (np.array([[127, .5, 1.5, -.5], [127, .25, 2.5, -127]]), 0),
             "not_finite": (rng.normal(0, 1, (4, 6)), 0)}
    cases["outlier"][0][:, 7] *= 256
    cases["pruned"][0][2] = 0
    cases["pruned"][0][3, ::2] = 0
    cases["not_finite"][0][1, 2:4] = np.nan, np.inf
    lines = ["# tools/golden/model_facts.py: name outer channels inner, weights, then ratio, zero channels, shares, levels, not finite"]
    for name, (w, axis) in cases.items():
        w = w.astype(np.float32)
        shape = int(np.prod(w.shape[:axis])), w.shape[axis], int(np.prod(w.shape[axis + 1:]))
        lines.append(f"{name} {text(shape)} {' '.join(float(v).hex() if np.isfinite(v) else str(v) for v in w.ravel())} {text(figures(w, axis))}")
    (OUT / "inspect_range.txt").write_text("\n".join(lines) + "\n")


def weight_of(model, node):
    """Stored name, values as float, channel axis; the values are None where the file stores no scale."""
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    maker = {o: n for n in model.graph.node for o in n.output}
    constants |= {n.output[0]: numpy_helper.to_array(n.attribute[0].t) for n in model.graph.node if n.op_type == "Constant" and n.attribute[0].HasField("t")}
    name = node.input[1]
    transposed = any(a.name == "transB" and a.i for a in node.attribute)
    axis = 1 if node.op_type == "MatMul" or (node.op_type == "Gemm" and not transposed) else 0
    if name in constants:
        w = constants[name]
        return name, w.astype(np.float32) if w.dtype.kind == "f" else w.astype(np.float32) - constants[node.input[3]].astype(np.float32), axis
    dq = maker[name]
    assert dq.op_type == "DequantizeLinear"
    q, scale = constants[dq.input[0]], constants[dq.input[1]]
    zero = constants[dq.input[2]] if len(dq.input) > 2 else np.zeros_like(scale)
    at = next((a.i for a in dq.attribute if a.name == "axis"), 1) % q.ndim
    wide = lambda f: f.astype(np.float32).reshape([-1 if d == at else 1 for d in range(q.ndim)]) if f.size > 1 else f.astype(np.float32).reshape(())
    return dq.input[0], (q.astype(np.float32) - wide(zero)) * wide(scale), axis


def macs(model, layers):
    tapped = onnx.ModelProto()
    tapped.CopyFrom(model)
    known = {o.name for o in tapped.graph.output}
    for n in layers:
        if n.output[0] not in known:
            tapped.graph.output.add().name = n.output[0]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(tapped.SerializeToString(), options, providers=["CPUExecutionProvider"])
    port = session.get_inputs()[0]
    x = np.zeros([d if isinstance(d, int) else 1 for d in port.shape], np.float32)
    shapes = {n.output[0]: v.shape for n, v in zip(layers, session.run([n.output[0] for n in layers], {port.name: x}))}
    total = 0
    for n in layers:
        _, w, axis = weight_of(model, n)
        total += int(np.prod(shapes[n.output[0]])) * (w.shape[0 if axis else 1] if w.ndim == 2 else int(np.prod(w.shape[1:])))
    return total


def models():
    lines = ["# tools/golden/model_facts.py: model, nodes, layers, bytes of weights, multiply-adds, int8 layers; then per layer its figures"]
    for path in MODELS:
        model = onnx.load(SHARED / f"{path}.onnx")
        layers = [n for n in model.graph.node if n.op_type in ("Conv", "Gemm", "MatMul", "ConvInteger")]
        stored = {t.name: t for t in model.graph.initializer}
        names = [weight_of(model, n)[0] for n in layers]
        int8 = sum(stored[n].data_type in (2, 3) for n in names)
        size = sum(numpy_helper.to_array(stored[n]).nbytes for n in set(names))
        lines.append(f"model {path} {len(model.graph.node)} {len(layers)} {size} {macs(model, layers)} {int8}")
        ranked = sorted(((figures(*weight_of(model, n)[1:]), n.name or n.output[0]) for n in layers), key=lambda r: -r[0][0])[:4]
        lines += [f"layer {name} {text(f)}" for f, name in ranked]
    (OUT / "inspect_models.txt").write_text("\n".join(lines) + "\n")


OUT.mkdir(parents=True, exist_ok=True)
small_weights()
models()

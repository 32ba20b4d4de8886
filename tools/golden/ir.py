"""Writes tests/golden/ir/: models of opset 9 to 12 with the outputs that ONNX Runtime computes from them as they are, and the
schemas of the operators in pare's table.

Run: ~/.cache/pare/venv/bin/python tools/golden/ir.py    (onnx 1.23, onnxruntime 1.32)
"""
import pathlib
import re

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/ir"
F = TensorProto.FLOAT


def model(name, opset, node, x, constants=(), outputs=("y",)):
    nodes = node if isinstance(node, list) else [node]
    def made(shapes):
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", F, list(x.shape))],
                                  [helper.make_tensor_value_info(o, F, s) for o, s in zip(outputs, shapes)],
                                  [numpy_helper.from_array(v, k) for k, v in constants])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4 if opset < 11 else 6)

    session = onnxruntime.InferenceSession(made([None] * len(outputs)).SerializeToString(), providers=["CPUExecutionProvider"])
    results = session.run(None, {"x": x})
    m = made([r.shape for r in results])
    (OUT / f"{name}.onnx").write_bytes(m.SerializeToString())
    text = [f"x {len(x.shape)} {' '.join(map(str, x.shape))} {' '.join(float(v).hex() for v in x.ravel())}"]
    for o, r in zip(outputs, results):
        text.append(f"{o} {r.ndim} {' '.join(map(str, r.shape))} {' '.join(float(v).hex() for v in r.ravel())}")
    (OUT / f"{name}.txt").write_text("\n".join(text) + "\n")
    print(name, results[0].shape)


def conversions():
    n = helper.make_node
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1, (1, 2, 3, 4)).astype(np.float32)
    f = lambda *v: np.array(v, np.float32)
    model("softmax11_no_axis", 11, n("Softmax", ["x"], ["y"]), np.zeros((1, 2, 3), np.float32))
    model("softmax9_axis1", 9, n("Softmax", ["x"], ["y"], axis=1), x)
    model("softmax12_axis2", 12, n("Softmax", ["x"], ["y"], axis=2), x)
    model("softmax11_last", 11, n("Softmax", ["x"], ["y"], axis=3), x)
    model("log_softmax10", 10, n("LogSoftmax", ["x"], ["y"], axis=1), x)
    model("hardmax11_last", 11, n("Hardmax", ["x"], ["y"], axis=3), x)
    model("squeeze9", 9, n("Squeeze", ["x"], ["y"], axes=[0]), x)
    model("squeeze11_negative", 11, [n("Unsqueeze", ["x"], ["u"], axes=[-1]), n("Squeeze", ["u"], ["y"], axes=[-1])], x)
    model("reduce_sum11", 11, n("ReduceSum", ["x"], ["y"], axes=[1, 2], keepdims=0), x)
    model("reduce_mean10", 10, n("ReduceMean", ["x"], ["y"], axes=[3]), x)
    model("split11", 11, n("Split", ["x"], ["y", "z"], axis=3, split=[1, 3]), x, outputs=("y", "z"))
    model("clip9", 9, n("Clip", ["x"], ["y"], min=-0.5, max=0.25), x)
    model("clip10_max", 10, n("Clip", ["x"], ["y"], max=0.25), x)
    model("clip11", 11, n("Clip", ["x", "lo", ""], ["y"]), x, [("lo", np.array(-0.5, np.float32))])
    model("dropout9", 9, [n("Dropout", ["x"], ["d"], ratio=0.4), n("Relu", ["d"], ["y"])], x)
    model("upsample9_nearest", 9, n("Upsample", ["x", "s"], ["y"], mode="nearest"), x, [("s", f(1, 1, 2, 3))])
    model("upsample9_linear", 9, n("Upsample", ["x", "s"], ["y"], mode="linear"), x, [("s", f(1, 1, 2, 2))])
    model("resize10_nearest", 10, n("Resize", ["x", "s"], ["y"], mode="nearest"), x, [("s", f(1, 1, 2, 2.5))])
    model("resize10_down", 10, n("Resize", ["x", "s"], ["y"], mode="nearest"), x, [("s", f(1, 1, 1 / 3, 0.5))])
    model("resize10_linear", 10, n("Resize", ["x", "s"], ["y"], mode="linear"), x, [("s", f(1, 1, 2, 1.5))])
    model("resize11", 11, n("Resize", ["x", "r", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners"), x,
          [("r", f()), ("s", f(1, 1, 2, 2))])
    model("pad10", 10, n("Pad", ["x"], ["y"], pads=[0, 0, 1, 2, 0, 0, 0, 1], value=0.5), x)
    model("pad11", 11, n("Pad", ["x", "p", "v"], ["y"]), x, [("p", np.array([0, 0, 0, -1, 0, 0, 2, 0], np.int64)), ("v", np.array(7, np.float32))])
    model("slice9", 9, n("Slice", ["x"], ["y"], axes=[2, 3], starts=[1, 0], ends=[3, 2]), x)
    model("batch_norm9", 9, n("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"]), x,
          [("s", f(1, 2)), ("b", f(0, 1)), ("m", f(0.1, -0.1)), ("v", f(1, 4))])
    model("topk10", 10, [n("TopK", ["x", "k"], ["y", "i"], axis=3)], x, [("k", np.array([2], np.int64))])
    # Tensors whose names are numbers, as old exporters give them; the converter makes up such names too.
    w = rng.normal(0, 1, (2, 2, 1, 1)).astype(np.float32)
    model("numbers10", 10, [n("Conv", ["x", "1"], ["2"]), n("Clip", ["2"], ["3"], min=0.0, max=6.0), n("Softmax", ["3"], ["4"], axis=1),
                            n("Squeeze", ["4"], ["5"], axes=[0]), n("Add", ["5", "5"], ["y"])], x, [("1", w)])


def schemas():
    rows = re.findall(r'\.op = "(\w+)"', (ROOT / "src/ir/op_table.cpp").read_text())
    lines = ["operator inputs"]
    for op in rows:
        schema = onnx.defs.get_schema(op, 22, "")
        lines.append(op + " " + " ".join(i.name for i in schema.inputs))
    (OUT / "schemas.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    conversions(), schemas()

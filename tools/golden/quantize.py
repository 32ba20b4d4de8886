"""Writes tests/golden/quantize/: a small network quantized in plain numpy and run as Q/DQ file by ONNX's reference evaluator.

Run: ~/.cache/pare/venv/bin/python tools/golden/quantize.py    (numpy 2, onnx 1.23)

x -> Conv(stride 2, pads 1) -> r = Relu -> f = Flatten -> y = Gemm -> s = Sigmoid. Each file: one tensor a line, "name shape numbers".
"""
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/quantize"


def params(low, high, qmin, qmax, symmetric):
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    if symmetric:
        middle = (qmin + qmax + 1) // 2
        return np.float32(max(-low, high) / (qmax - middle)), middle
    scale = np.float32((high - low) / (qmax - qmin))
    return scale, int(np.clip(np.rint(qmin - low / np.float64(scale)), qmin, qmax))


def channels(w, axis, per_channel, limit):
    """int8 numbers and scales: max|w| / limit for each index of `axis`."""
    moved = np.moveaxis(w, axis, 0).reshape(w.shape[axis], -1)
    largest = np.abs(moved).max(1) if per_channel else np.abs(moved).max(keepdims=True).reshape(1)
    scale = (largest / np.float32(limit)).astype(np.float32)
    shape = [1] * w.ndim
    shape[axis] = -1
    q = np.clip(np.rint(w / (scale.reshape(shape) if per_channel else scale[0])), -limit, limit).astype(np.int8)
    return q, scale


def float_model():
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Flatten", ["r"], ["f"]), helper.make_node("Gemm", ["f", "v", "d"], ["y"], transB=1),
             helper.make_node("Sigmoid", ["y"], ["s"])]
    return nodes


def evaluate(nodes, constants, inputs, outputs):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info(n, TensorProto.FLOAT, v.shape) for n, v in inputs.items()],
                              [info(n, TensorProto.FLOAT, None) for n in outputs],
                              [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])).run(outputs, inputs)


def run(name, activation, symmetric, per_channel, limit):
    rng = np.random.default_rng(5)
    f = np.float32
    x = rng.normal(0, 1, (2, 2, 7, 7)).astype(f)
    t = {"w": rng.normal(0, .4, (3, 2, 3, 3)).astype(f), "b": rng.normal(0, .3, 3).astype(f), "v": rng.normal(0, .2, (5, 48)).astype(f),
         "d": rng.normal(0, .3, 5).astype(f)}
    r, y = evaluate(float_model(), t, {"x": x}, ["r", "y"])
    qmin, qmax, np_type = (0, 255, np.uint8) if activation == "uint8" else (-128, 127, np.int8)
    sx, sr, sy = (params(a.min(), a.max(), qmin, qmax, symmetric) for a in (x, r, y))
    wq, ws = channels(t["w"], 0, per_channel, limit)
    vq, vs = channels(t["v"], 0, per_channel, limit)
    bs, ds = sx[0] * ws, sr[0] * vs
    bq = np.rint(t["b"].astype(np.float64) / bs).astype(np.int32)
    dq = np.rint(t["d"].astype(np.float64) / ds).astype(np.int32)

    scale = lambda s: s if per_channel else s[0]
    constants = {"wq": wq, "ws": scale(ws), "bq": bq, "bs": scale(bs), "vq": vq, "vs": scale(vs), "dq": dq, "ds": scale(ds)}
    nodes = []
    for n, (s, z) in {"x": sx, "r": sr, "f": sr, "y": sy}.items():
        constants[n + "_s"], constants[n + "_z"] = np.array(s, f), np.array(z, np_type)
        nodes += [helper.make_node("QuantizeLinear", [n, n + "_s", n + "_z"], [n + "_q"]),
                  helper.make_node("DequantizeLinear", [n + "_q", n + "_s", n + "_z"], [n + "_d"])]
    axis = {"axis": 0} if per_channel else {}
    constant_nodes = [helper.make_node("DequantizeLinear", [n + "q", n + "s"], [n + "_c"], **axis) for n in "wbvd"]
    work = [helper.make_node("Conv", ["x_d", "w_c", "b_c"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
            helper.make_node("Flatten", ["r_d"], ["f"]), helper.make_node("Gemm", ["f_d", "v_c", "d_c"], ["y"], transB=1),
            helper.make_node("Sigmoid", ["y_d"], ["s"])]
    ordered = constant_nodes + nodes[:2] + work[:2] + nodes[2:4] + work[2:3] + nodes[4:6] + work[3:4] + nodes[6:] + work[4:]
    s, y_d = evaluate(ordered, constants, {"x": x}, ["s", "y_d"])

    # The same in integers: accumulate int8 products, add the int32 bias, requantize.
    rq = np.clip(np.rint(evaluate(ordered, constants, {"x": x}, ["r"])[0] / sr[0]) + sr[1], qmin, qmax).astype(np.int64)
    acc = (rq.reshape(2, -1) - sr[1]) @ vq.T.astype(np.int64) + dq
    yq = np.clip(np.rint(acc * ds / sy[0]) + sy[1], qmin, qmax)
    assert np.abs((yq - sy[1]) * sy[0] - y_d).max() <= sy[0] * 1.01, "integer and Q/DQ arithmetic differ by more than a step"

    lines = []
    for key, v in {"x": x, **t, "wq": wq, "bq": bq, "vq": vq, "dq": dq, "ws": ws, "vs": vs,
                   "ranges": np.array([[a.min(), a.max()] for a in (x, r, y)], f), "y": y_d, "s": s}.items():
        v = np.asarray(v)
        lines.append(" ".join([key, "x".join(map(str, v.shape))] + [f"{float(n):.9g}" for n in v.ravel()]))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    run("uint8.txt", "uint8", False, True, 127)
    run("uint8_per_tensor.txt", "uint8", False, False, 127)
    run("uint8_seven_bits.txt", "uint8", False, True, 64)
    run("int8.txt", "int8", False, True, 127)
    run("int8_symmetric.txt", "int8", True, True, 127)

"""What released ONNX Runtimes take and fuse: one line for each, from 1.15 on. Makes src/runtime/versions.cpp and the `ort_since` of src/ir/op_table.cpp.

    python probe.py FOLDER [VERSION ...]

Installs each version (with a NumPy that it knows) into FOLDER and asks it in a process of its own. Needs onnx and pip.
"""

import json
import subprocess
import sys
from pathlib import Path

VERSIONS = ["1.15.1", "1.16.3", "1.17.3", "1.18.1", "1.19.2", "1.20.1", "1.21.1", "1.22.1", "1.23.2", "1.24.1", "1.26.0", "1.28.0", "1.30.0", "1.32.0"]


def relu(opset: int, ir: int):
    from onnx import TensorProto, helper

    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = ir
    return made.SerializeToString()


def pattern(op: str, shape: list[int], activation, same_scale: bool, extra: dict, attributes: dict):
    """x -> Q -> DQ -> op -> Q -> DQ -> y, constants behind a DQ."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    constants = {"s": np.float32(0.02), "z": activation(100 if activation is np.uint8 else 0), "so": np.float32(0.02 if same_scale else 0.03),
                 "ws": np.full(8, 0.01, np.float32), "wz": np.zeros(8, np.int8)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"])]
    inputs = ["d"]
    for name, value in extra.items():
        if value is None:  # a second activation
            nodes += [helper.make_node("QuantizeLinear", ["x2", "s", "z"], ["q2"]), helper.make_node("DequantizeLinear", ["q2", "s", "z"], ["d2"])]
            inputs.append("d2")
            continue
        constants[name] = value
        if value.dtype == np.int8:
            axis = 1 if op == "MatMul" else 0
            nodes.append(helper.make_node("DequantizeLinear", [name, "ws", "wz"], [name + "_d"], axis=axis))
            inputs.append(name + "_d")
        elif value.dtype == np.int32:
            constants["bs"] = (0.02 * constants["ws"]).astype(np.float32)
            nodes.append(helper.make_node("DequantizeLinear", [name, "bs"], [name + "_d"], axis=0))
            inputs.append(name + "_d")
        else:
            inputs.append(name)
    nodes += [helper.make_node(op, inputs, ["o"], **attributes), helper.make_node("QuantizeLinear", ["o", "so", "z"], ["p"]),
              helper.make_node("DequantizeLinear", ["p", "so", "z"], ["y"])]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    if any(value is None for value in extra.values()):
        values.append(helper.make_tensor_value_info("x2", TensorProto.FLOAT, shape))
    graph = helper.make_graph(nodes, "g", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 7
    return made.SerializeToString()


def patterns():
    import numpy as np

    w = np.ones((8, 8, 3, 3), np.int8)
    image, flat = [1, 8, 6, 6], [1, 8]
    ints = lambda *v: np.array(v, np.int64)  # noqa: E731
    return {
        "Conv": (image, False, {"w": w, "b": np.ones(8, np.int32)}, {}),
        "Gemm": (flat, False, {"w": np.ones((8, 8), np.int8), "b": np.ones(8, np.int32)}, {"transB": 1}),
        "MatMul": (flat, False, {"w": np.ones((8, 8), np.int8)}, {}),
        "Reshape": (image, True, {"t": ints(1, 8, 36)}, {}),
        "Flatten": (image, True, {}, {}),
        "Transpose": (image, True, {}, {"perm": [0, 2, 3, 1]}),
        "Squeeze": (image, True, {"a": ints(0)}, {}),
        "Unsqueeze": (image, True, {"a": ints(0)}, {}),
        "Split": (image, True, {"n": ints(8)}, {"axis": 1}),
        "Slice": (image, True, {"a": ints(0), "e": ints(4), "x_": ints(1)}, {}),
        "Gather": (image, True, {"i": ints(0, 1)}, {"axis": 1}),
        "MaxPool": (image, True, {}, {"kernel_shape": [2, 2]}),
        "Resize": (image, True, {"r": np.array([], np.float32), "k": np.array([1, 1, 2, 2], np.float32)}, {"mode": "nearest"}),
        "DepthToSpace": (image, True, {}, {"blocksize": 2}),
        "Expand": (image, True, {"t": ints(1, 8, 6, 6)}, {}),
        "Concat": (image, False, {"second": None}, {"axis": 1}),
        "Sigmoid": (image, False, {}, {}),
        "LeakyRelu": (image, False, {}, {"alpha": 0.1}),
        "Add": (image, False, {"second": None}, {}),
        "Mul": (image, False, {"second": None}, {}),
        "AveragePool": (image, False, {}, {"kernel_shape": [2, 2]}),
        "GlobalAveragePool": (image, False, {}, {}),
        "Softmax": (image, False, {}, {"axis": -1}),
        "Relu": (image, False, {}, {}),
        "Tanh": (image, False, {}, {}),
        "HardSigmoid": (image, False, {}, {}),
        "ReduceMean": (image, False, {}, {"axes": [2, 3]}),
    }


def ask(folder: Path) -> None:
    """In the child: prints what this runtime says."""
    import onnx
    import onnxruntime as ort

    def loads(model: bytes, optimized: str = "") -> bool:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        if optimized:
            options.optimized_model_filepath = optimized
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        try:
            ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception:  # noqa: BLE001
            return False
        return True

    found = {"opset": max((o for o in range(13, 30) if loads(Path(folder / f"relu_{o}_7").read_bytes())), default=0),
             "ir": max((i for i in range(7, 15) if loads(Path(folder / f"relu_13_{i}").read_bytes())), default=0)}
    for file in sorted(folder.glob("pattern_*")):
        out = f"/tmp/probe_{ort.__version__}.onnx"
        if not loads(file.read_bytes(), out):
            found[file.name[8:]] = "refused"
            continue
        ops = [n.op_type for n in onnx.load(out).graph.node]
        kernels = [o for o in ops if o not in ("QuantizeLinear", "DequantizeLinear")]
        found[file.name[8:]] = " ".join(kernels) + f" dq{ops.count('DequantizeLinear')}"
    print(json.dumps(found))


def main() -> None:
    folder = Path(sys.argv[1])
    if len(sys.argv) == 3 and sys.argv[2] == "--ask":
        ask(folder)
        return
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    for opset in range(13, 30):
        (folder / f"relu_{opset}_7").write_bytes(relu(opset, 7))
    for ir in range(7, 15):
        (folder / f"relu_13_{ir}").write_bytes(relu(13, ir))
    for op, (shape, same, extra, attributes) in patterns().items():
        for activation in (np.uint8, np.int8):
            (folder / f"pattern_{op}_{activation.__name__}").write_bytes(pattern(op, shape, activation, same, extra, attributes))
    rows = {}
    for version in sys.argv[2:] or VERSIONS:
        place = folder / version
        if not place.exists():
            old = tuple(map(int, version.split(".")[:2])) < (1, 19)
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", place, f"onnxruntime=={version}", "onnx<1.20",
                            "numpy<2" if old else "numpy>=2"], check=False)
        done = subprocess.run([sys.executable, __file__, folder, "--ask"], env={"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin"},
                              capture_output=True, text=True)
        rows[version] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"error": done.stderr[-200:]}
        print(version, json.dumps(rows[version]), flush=True)
    (folder / "table.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

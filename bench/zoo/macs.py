"""Multiply-adds of a model, by the kernels that ONNX Runtime really runs, from its profile, which holds each kernel's shapes."""

import json
import tempfile
from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
import onnxruntime as ort

ort.set_default_logger_severity(3)
WEIGHT_INDEX = {"Conv": 1, "FusedConv": 1, "ConvTranspose": 1, "ConvInteger": 1, "QLinearConv": 3, "NhwcFusedConv": 1}
INTEGER = {
    "ConvInteger",
    "QLinearConv",
    "QLinearMatMul",
    "QGemm",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "DynamicQuantizeMatMul",
}
PRODUCTS = {"MatMul", "FusedMatMul", "QLinearMatMul", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def shape_of(row: dict[str, list[int]]) -> list[int]:
    return next(iter(row.values())) if row else []


def macs_of(operator: str, inputs: list[list[int]], output: list[int]) -> int:
    if operator in WEIGHT_INDEX:
        weight = inputs[WEIGHT_INDEX[operator]]
        # Each output of a convolution is made of weight/outputs products, each input of a transposed one goes into as many.
        return prod(inputs[0] if operator == "ConvTranspose" else output) * prod(weight[1:])
    if operator in PRODUCTS:
        return prod(output) * inputs[0][-1]
    if operator in ("Gemm", "FusedGemm", "QGemm"):
        return prod(inputs[0]) * output[1]
    if operator in GATES:
        weight, recurrent = inputs[1], inputs[2]
        return prod(inputs[0][:2]) * (prod(weight) + prod(recurrent))
    return 0


def count_macs(model: Path, sample: dict[str, np.ndarray]) -> Counter[str]:
    """Operator of the kernel -> multiply-adds of one inference."""
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = f"{folder}/profile"
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # shapes of blocked layouts say less
        options.add_session_config_entry("session.disable_prepacking", "1")  # a packed weight has no shape in the profile
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        session.run(None, sample)
        events = json.loads(Path(session.end_profiling()).read_text())
    total: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            facts = event["args"]
            inputs = [shape_of(row) for row in facts["input_type_shape"]]
            outputs = [shape_of(row) for row in facts["output_type_shape"]]
            total[facts["op_name"]] += macs_of(facts["op_name"], inputs, outputs[0] if outputs else [])
    return +total


def integer_share(macs: Counter[str], float_macs: Counter[str]) -> float | None:
    everything = sum(float_macs.values())
    return sum(n for operator, n in macs.items() if operator in INTEGER) / everything if everything else None

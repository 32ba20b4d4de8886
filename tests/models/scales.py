"""Says whether the per-channel weight scales of a Q/DQ file are right for dead_channels of make.py: python scales.py FILE."""

import sys

import numpy as np
import onnx
from onnx import numpy_helper

model = onnx.load(sys.argv[1])
constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
for node in model.graph.node:
    if node.op_type == "DequantizeLinear" and constants.get(node.input[0], np.zeros(0)).ndim == 4:
        weight, scale = constants[node.input[0]], constants[node.input[1]]
        good = np.isfinite(scale).all() and (scale > 0).all()
        print(f"{scale.size} weight scales, {'all finite and above 0' if good else scale}")
        dead = (weight[1:3] * scale[1:3].reshape(-1, 1, 1, 1) == 0).all()
        print("channels 1 and 2 are exactly 0" if dead else f"channels 1 and 2 hold {weight[1:3]}")

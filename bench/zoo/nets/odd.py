"""Files as other tools write them, and files that are legal but rare: built node by node."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from nets.classify import CLASSES, resnet18
from nets.registry import net

SIDE = 32
IMAGE = (1, 3, SIDE, SIDE)
FLOAT, HALF, INT64, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL


class Builder:
    """Nodes and weights of one graph; every method gives the name of the value that it makes."""

    def __init__(self, seed: int, prefix: str = "") -> None:
        self.rng = np.random.default_rng(seed)
        self.prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.count = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{self.prefix}{stem}_{self.count}"

    def add(self, operator: str, inputs: list[str], output: str | None = None, **attributes: Any) -> str:
        output = output or self.name(operator.lower())
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output + "_node", **attributes))
        return output

    def store(self, values: Any, dtype: Any = np.float32, name: str | None = None) -> str:
        name = name or self.name("weight")
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def random(self, *shape: int, fan_in: int | None = None) -> np.ndarray:
        fan_in = fan_in or int(np.prod(shape[1:]))
        return self.rng.normal(0, (1.5 / fan_in) ** 0.5, shape).astype(np.float32)

    def bias(self, size: int) -> str:
        return self.store(self.rng.normal(0.3, 0.3, size))

    def conv(
        self,
        x: str,
        inputs: int,
        outputs: int,
        kernel: int = 3,
        stride: int = 1,
        groups: int = 1,
        act: str = "Relu",
        **attributes: Any,
    ) -> str:
        weight = self.store(self.random(outputs, inputs // groups, kernel, kernel))
        pads = {} if "auto_pad" in attributes else {"pads": [kernel // 2] * 4}
        y = self.add("Conv", [x, weight, self.bias(outputs)], strides=[stride] * 2, group=groups, **pads, **attributes)
        return self.add(act, [y]) if act else y

    def classify(self, x: str, inputs: int, output: str = "output") -> str:
        flat = self.add("Flatten", [self.add("GlobalAveragePool", [x])])
        return self.add("Gemm", [flat, self.store(self.random(CLASSES, inputs)), self.bias(CLASSES)], output, transB=1)

    def model(
        self,
        inputs: dict[str, tuple] | None = None,
        outputs: dict[str, tuple | None] | None = None,
        opset: int = 17,
        ir: int = 8,
        domains: tuple[str, ...] = (),
    ) -> onnx.ModelProto:
        inputs, outputs = inputs or {"images": IMAGE}, outputs or {"output": (1, CLASSES)}
        given = [helper.make_tensor_value_info(n, FLOAT, s) for n, s in inputs.items()]
        made = [helper.make_tensor_value_info(n, FLOAT, shape) for n, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, "zoo", given, made, self.weights)
        opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir, producer_name="zoo")
        return model


def start(seed: int) -> tuple[Builder, str]:
    """3 -> 24 channels at a quarter of the size."""
    b = Builder(seed)
    return b, b.conv(b.conv("images", 3, 16, stride=2), 16, 24, stride=2)


def odd(name: str, kind: str, **settings: Any) -> Callable[[Callable[[], onnx.ModelProto]], Callable[[], onnx.ModelProto]]:
    return net(name, kind, settings.pop("inputs", IMAGE), exporter="onnx", **settings)


@odd("constant_weights", "weights in Constant nodes, opset 11")
def constant_weights() -> onnx.ModelProto:
    b, x = start(1)
    b.classify(b.conv(x, 24, 32), 32)
    model = b.model(opset=11, ir=6)
    constants = [helper.make_node("Constant", [], [w.name], value=w) for w in model.graph.initializer]
    nodes = [*constants, *model.graph.node]
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


@odd("identity_weights", "Identity between initializer and Conv, one weight of two Convs")
def identity_weights() -> onnx.ModelProto:
    b, x = start(2)
    weight, bias = b.add("Identity", [b.store(b.random(24, 24, 3, 3))]), b.add("Identity", [b.bias(24)])
    for _ in range(2):
        x = b.add("Relu", [b.add("Conv", [x, b.add("Identity", [weight]), bias], pads=[1] * 4)])
    b.classify(x, 24)
    return b.model()


@odd("half_weights", "fp16 initializers behind Cast to float")
def half_weights() -> onnx.ModelProto:
    b, x = start(3)
    weight = b.add("Cast", [b.store(b.random(32, 24, 3, 3), np.float16)], to=FLOAT)
    bias = b.add("Cast", [b.store(b.rng.normal(0.3, 0.3, 32), np.float16)], to=FLOAT)
    b.classify(b.add("Relu", [b.add("Conv", [x, weight, bias], pads=[1] * 4)]), 32)
    return b.model()


@odd("half_inside", "fp16 graph between Casts, float input and output, as converters write it")
def half_inside() -> onnx.ModelProto:
    b, x = start(4)
    b.classify(b.conv(x, 24, 32), 32, "half_output")
    b.nodes.insert(0, helper.make_node("Cast", ["images"], ["half_images"], to=HALF))
    b.nodes[1].input[0] = "half_images"
    b.add("Cast", ["half_output"], "output", to=FLOAT)
    b.weights = [numpy_helper.from_array(numpy_helper.to_array(w).astype(np.float16), w.name) for w in b.weights]
    return b.model()


@odd("ir3", "IR 3, opset 8: initializers are inputs, BatchNormalization not folded")
def ir3() -> onnx.ModelProto:
    b, x = start(5)
    facts = [b.store(b.rng.uniform(0.5, 1.5, 24)), b.bias(24), b.bias(24), b.store(b.rng.uniform(0.5, 1.5, 24))]
    b.classify(b.add("Relu", [b.add("BatchNormalization", [x, *facts])]), 24)
    model = b.model(opset=8, ir=3)
    model.graph.input.extend(helper.make_tensor_value_info(w.name, w.data_type, w.dims) for w in model.graph.initializer)
    return model


@odd("branches", "If with a Conv in both branches", conv=False)
def branches() -> onnx.ModelProto:
    b, x = start(6)
    graphs = {}
    for branch in ("then", "else"):
        inner = Builder(60 + len(branch) + (branch == "then"), prefix=f"{branch}_")
        made = inner.conv(x, 24, 24)
        value = helper.make_tensor_value_info(made, FLOAT, [1, 24, 8, 8])
        graphs[f"{branch}_branch"] = helper.make_graph(inner.nodes, branch, [], [value], inner.weights)
    mean = b.add("ReduceMean", ["images"], keepdims=0)
    y = b.add("If", [b.add("Greater", [mean, b.store(0.0)])], **graphs)
    b.classify(b.conv(y, 24, 32), 32)
    return b.model()


@odd("loop", "Loop with a Conv inside", conv=False)
def loop() -> onnx.ModelProto:
    b, x = start(7)
    inner = Builder(70, prefix="body_")
    made = inner.conv("state", 24, 24)
    inner.nodes.append(helper.make_node("Identity", ["go"], ["go_on"]))
    shape = [1, 24, 8, 8]
    given = [("i", INT64, []), ("go", BOOL, []), ("state", FLOAT, shape)]
    results = [("go_on", BOOL, []), (made, FLOAT, shape)]
    values = [[helper.make_tensor_value_info(*v) for v in side] for side in (given, results)]
    body = helper.make_graph(inner.nodes, "body", *values, inner.weights)
    b.classify(b.add("Loop", [b.store(3, np.int64), b.store(True, np.bool_), x], body=body), 24)
    return b.model()


@odd("shared", "one weight and one bias of three Convs with different inputs")
def shared() -> onnx.ModelProto:
    b, x = start(8)
    weight, bias = b.store(b.random(24, 24, 3, 3)), b.bias(24)
    for _ in range(3):
        x = b.add("Relu", [b.add("Conv", [x, weight, bias], pads=[1] * 4)])
    b.classify(b.add("Mul", [x, b.store(0.1)]), 24)
    return b.model()


@odd("gemms", "Gemm with transA, alpha, beta, no bias; MatMul with the weight on the left; Einsum", conv=False)
def gemms() -> onnx.ModelProto:
    b, x = start(9)
    flat = b.add("Flatten", [b.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])])
    tall = b.add("Transpose", [flat], perm=[1, 0])
    y = b.add("Gemm", [tall, b.store(b.random(384, 96, fan_in=384)), b.bias(96)], transA=1, alpha=0.5, beta=2.0)
    y = b.add("Relu", [b.add("Gemm", [b.add("Relu", [y]), b.store(b.random(64, 96))], transB=1)])
    y = b.add("MatMul", [b.store(b.random(48, 64)), b.add("Transpose", [y], perm=[1, 0])])
    y = b.add("Transpose", [b.add("LeakyRelu", [y], alpha=0.2)], perm=[1, 0])
    b.add("Einsum", [y, b.store(b.random(48, CLASSES, fan_in=48))], "output", equation="bi,io->bo")
    return b.model()


@odd("multiplier", "depthwise with two outputs per input, groups of different sizes, one output channel")
def multiplier() -> onnx.ModelProto:
    b, x = start(10)
    x = b.conv(b.conv(x, 24, 48, groups=24), 48, 32, groups=4)
    gate = b.add("Sigmoid", [b.conv(x, 32, 1, act="")])
    b.classify(b.add("Mul", [x, gate]), 32)
    return b.model()


@odd("absent_inputs", "Resize, Clip and Pad with absent optional inputs, Conv without bias, Dropout")
def absent_inputs() -> onnx.ModelProto:
    b, x = start(11)
    x = b.add("Clip", [x, "", b.store(2.0)])
    x = b.add("Resize", [x, "", b.store([1, 1, 2, 2])], mode="linear")
    x = b.add("Pad", [x, b.store([0, 0, 1, 1, 0, 0, 1, 1], np.int64), ""])
    x = b.add("Dropout", [b.add("Conv", [x, b.store(b.random(24, 24, 3, 3)), ""])])
    x = b.add("Resize", [x, "", "", b.store([1, 24, 8, 8], np.int64)], mode="nearest")
    b.classify(b.add("Clip", [x]), 24)
    return b.model()


@net("external", "weights in a file beside the model", (1, 3, 64, 64), external=True)
def external() -> nn.Module:
    return resnet18()


@odd(
    "names",
    "non-ASCII, empty and colliding names; outputs read inside; the input called like a Q/DQ value",
    inputs={"вход_QuantizeLinear": IMAGE},
)
def names() -> onnx.ModelProto:
    b = Builder(12)
    x = b.conv("вход_QuantizeLinear", 3, 16, stride=2)
    weight = b.store(b.random(24, 16, 3, 3), name="重み")
    y = b.add("Conv", [x, weight, b.bias(24)], f"{x}_QuantizeLinear_Output", pads=[1] * 4, strides=[2, 2])
    z = b.add("Relu", [y], "x_scale")
    weight = b.store(b.random(24, 24, 3, 3), name="重み_quantized")
    z = b.add("Relu", [b.add("Conv", [z, weight], f"{x}_DequantizeLinear", pads=[1] * 4)], "x_zero_point")
    b.classify(b.add("Add", [z, "x_scale"], "a/b:0"), 24)
    for node in b.nodes:
        node.name = ""
    return b.model({"вход_QuantizeLinear": IMAGE}, {"output": (1, CLASSES), "x_scale": (1, 24, 8, 8)})


@odd("no_output_shape", "the output has no shape in the file; ONNX Runtime does not need it")
def no_output_shape() -> onnx.ModelProto:
    b, x = start(13)
    b.classify(b.conv(x, 24, 32), 32)
    return b.model(outputs={"output": None})


@odd("fused_conv", "com.microsoft FusedConv, as ONNX Runtime's own optimizer saves it", conv=False)
def fused_conv() -> onnx.ModelProto:
    b, x = start(14)
    weight = b.store(b.random(32, 24, 3, 3))
    y = b.add("FusedConv", [x, weight, b.bias(32)], domain="com.microsoft", activation="Relu", pads=[1] * 4)
    b.classify(b.conv(y, 32, 32), 32)
    return b.model(domains=("com.microsoft",))


@odd("unknown_domain", "an operator that no runtime has", expect="refused")
def unknown_domain() -> onnx.ModelProto:
    b, x = start(15)
    b.classify(b.add("Swirl", [x], domain="org.example"), 24)
    return b.model(domains=("org.example",))


@odd("quantized_already", "Q/DQ is in the file", expect="refused")
def quantized_already() -> onnx.ModelProto:
    b, x = start(16)
    scale, zero = b.store(0.02), b.store(0, np.uint8)
    x = b.add("DequantizeLinear", [b.add("QuantizeLinear", [x, scale, zero]), scale, zero])
    b.classify(b.conv(x, 24, 32), 32)
    return b.model()


@odd("local_function", "Conv inside a function of the model")
def local_function() -> onnx.ModelProto:
    b, x = start(17)
    weight, bias = b.store(b.random(32, 24, 3, 3)), b.bias(32)
    b.classify(b.add("Block", [x, weight, bias], domain="zoo.local"), 32)
    model = b.model(domains=("zoo.local",))
    opsets = [helper.make_opsetid("", 17)]
    body = [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 4), helper.make_node("Relu", ["y"], ["z"])]
    model.functions.append(helper.make_function("zoo.local", "Block", ["x", "w", "b"], ["z"], body, opsets))
    return model


@odd("tensorflow", "NHWC input behind Transpose, SAME padding, as tf2onnx writes it", inputs=(1, SIDE, SIDE, 3))
def tensorflow() -> onnx.ModelProto:
    b = Builder(18)
    x = b.add("Transpose", ["images"], perm=[0, 3, 1, 2])
    x = b.conv(x, 3, 16, stride=2, auto_pad="SAME_UPPER", act="")
    x = b.add("Clip", [x, b.store(0.0), b.store(6.0)])
    x = b.conv(x, 16, 16, groups=16, auto_pad="SAME_UPPER")
    x = b.add("Transpose", [b.conv(x, 16, 24, 1, act="")], perm=[0, 2, 3, 1])
    x = b.add("Add", [b.add("Mul", [x, b.store(b.rng.uniform(0.5, 1.5, 24))]), b.bias(24)])
    x = b.add("ReduceMean", [x], axes=[1, 2], keepdims=0)
    x = b.add("Add", [b.add("MatMul", [x, b.store(b.random(24, CLASSES, fan_in=24))]), b.bias(CLASSES)])
    b.add("Softmax", [x], "output")
    return b.model({"images": (1, SIDE, SIDE, 3)})


@odd(
    "shapes_computed",
    "Shape, Gather, Concat and Reshape instead of Flatten; a zero-size tensor; dynamic batch",
    inputs={"images": IMAGE},
)
def shapes_computed() -> onnx.ModelProto:
    b, x = start(19)
    x = b.conv(x, 24, 32)
    nothing = b.add("Slice", [x, *(b.store([at], np.int64) for at in (5, 5, 1))])
    x = b.add("Concat", [x, nothing], axis=1)
    batch = b.add("Unsqueeze", [b.add("Gather", [b.add("Shape", [x]), b.store(0, np.int64)]), b.store([0], np.int64)])
    target = b.add("Concat", [batch, b.store([-1], np.int64)], axis=0)
    flat = b.add("Reshape", [x, target])
    b.add("Gemm", [flat, b.store(b.random(CLASSES, 2048)), b.bias(CLASSES)], "output", transB=1)
    return b.model({"images": ("N", 3, SIDE, SIDE)}, {"output": ("N", CLASSES)})


@odd(
    "dynamic_size", "height and width unknown in the file", options=["--preprocess", "imagenet", "--shape", f"1x3x{SIDE}x{SIDE}"]
)
def dynamic_size() -> onnx.ModelProto:
    b, x = start(20)
    b.classify(b.conv(x, 24, 32), 32)
    return b.model({"images": ("N", 3, "H", "W")}, {"output": ("N", CLASSES)})


@odd("dead_channels", "channels that are always zero, a weight of zeros, a huge bias, a constant output")
def dead_channels() -> onnx.ModelProto:
    b, x = start(21)
    weight = b.random(32, 24, 3, 3)
    weight[::4] = 0
    weight[1] *= 1e-6
    bias = b.rng.normal(0.3, 0.3, 32).astype(np.float32)
    bias[:3] = [0, 50, -50]
    x = b.add("Relu", [b.add("Conv", [x, b.store(weight), b.store(bias)], pads=[1] * 4)])
    x = b.add("Relu", [b.add("Conv", [x, b.store(b.random(32, 32, 1, 1)), b.bias(32)])])
    b.add("Relu", [b.add("Conv", [x, b.store(np.zeros((4, 32, 1, 1)))])], "nothing")
    b.classify(x, 32)
    return b.model(outputs={"output": (1, CLASSES), "nothing": (1, 4, 8, 8)})


@odd("sequences", "SplitToSequence and ConcatFromSequence on the way")
def sequences() -> onnx.ModelProto:
    b, x = start(22)
    pieces = b.add("SplitToSequence", [b.conv(x, 24, 32), b.store(16, np.int64)], axis=1)
    b.classify(b.conv(b.add("ConcatFromSequence", [pieces], axis=1), 32, 32), 32)
    return b.model()


@odd(
    "uint8_input",
    "uint8 pixels in, NHWC; Cast, mean and scale inside",
    inputs=(1, SIDE, SIDE, 3),
    options=["--preprocess", "none"],
)
def uint8_input() -> onnx.ModelProto:
    b = Builder(23)
    x = b.add("Cast", ["images"], to=FLOAT)
    x = b.add("Transpose", [b.add("Div", [b.add("Sub", [x, b.store([120.0, 115.0, 105.0])]), b.store(60.0)])], perm=[0, 3, 1, 2])
    b.classify(b.conv(b.conv(x, 3, 16, stride=2), 16, 24), 24)
    model = b.model({"images": (1, SIDE, SIDE, 3)})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    return model


@odd("normalized_inside", "pixels 0..255 in, mean and scale inside", options=["--preprocess", "none"])
def normalized_inside() -> onnx.ModelProto:
    b = Builder(24)
    x = b.add("Div", [b.add("Sub", ["images", b.store(np.reshape([120.0, 115.0, 105.0], (1, 3, 1, 1)))]), b.store(60.0)])
    b.classify(b.conv(b.conv(x, 3, 16, stride=2), 16, 24), 24)
    return b.model()


@odd("outputs", "the input, a Conv and its ReLU are outputs, one value twice; an unused input weight; a scalar output")
def outputs() -> onnx.ModelProto:
    b, x = start(25)
    y = b.add("Conv", [x, b.store(b.random(32, 24, 3, 3)), b.bias(32)], "raw", pads=[1] * 4)
    b.classify(b.conv(b.add("Relu", [y], "active"), 32, 32), 32)
    b.store(b.random(5, 5), name="unused")
    b.add("Identity", ["images"], "again")
    b.add("Identity", ["active"], "active_again")
    b.add("ReduceMax", ["output"], "largest", keepdims=0)
    maps = (1, 32, 8, 8)
    return b.model(
        outputs={"output": (1, CLASSES), "again": IMAGE, "raw": maps, "active": maps, "active_again": maps, "largest": ()}
    )


@odd("geometry", "uneven pads, dilation, stride beyond the kernel, SAME_LOWER, pools with pads and ceil")
def geometry() -> onnx.ModelProto:
    b, x = start(26)
    attributes = [
        dict(pads=[0, 1, 2, 3]),
        dict(dilations=[2, 1], pads=[2, 1, 2, 1]),
        dict(strides=[1, 2], auto_pad="SAME_LOWER"),
        dict(auto_pad="VALID", strides=[2, 1]),
    ]
    for settings in attributes:
        x = b.add("LeakyRelu", [b.add("Conv", [x, b.store(b.random(24, 24, 3, 3)), b.bias(24)], **settings)], alpha=0.1)
    x = b.add("AveragePool", [x], kernel_shape=[2, 2], pads=[1, 1, 0, 0], count_include_pad=1)
    x = b.add("Conv", [x, b.store(b.random(24, 24, 1, 1))], strides=[2, 2])
    x = b.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    b.classify(x, 24)
    return b.model()


@odd("vector_weights", "MatMul with a rank-1 weight, with a batch of weights, and of a constant folded late", conv=False)
def vector_weights() -> onnx.ModelProto:
    b, x = start(27)
    rows = b.add("Reshape", [x, b.store([1, 4, 6, 64], np.int64)])
    y = b.add("MatMul", [rows, b.store(b.random(4, 64, 32, fan_in=64))])
    y = b.add("Add", [b.add("MatMul", [y, b.add("Transpose", [b.store(b.random(32, 32))], perm=[1, 0])]), b.bias(32)])
    y = b.add("MatMul", [b.add("Relu", [y]), b.store(b.random(32, fan_in=32))])
    y = b.add("Reshape", [y, b.store([1, 24], np.int64)])
    b.add("Gemm", [y, b.store(b.random(CLASSES, 24)), b.bias(CLASSES)], "output", transB=1)
    return b.model()

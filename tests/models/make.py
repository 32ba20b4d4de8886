"""Makes the models and images of the text cases in the folder given: python make.py FOLDER."""

import io
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image


def weights(shape, seed):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, shape).astype(np.float32)


def model(nodes, constants, inputs, outputs, opset=13, imports=(), metadata=None):
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *imports], ir_version=7, producer_name="make.py")
    for key, value in (metadata or {}).items():
        made.metadata_props.add(key=key, value=value)
    return made


def convs(shape=(1, 3, 32, 32), kind=TensorProto.FLOAT, **options):
    """Conv-Relu-Conv-Relu-Conv, the global mean of each of ten channels at the end."""
    widths = (3, 8, 8, 10)
    nodes, constants, x = [], {}, "images"
    for i in range(3):
        constants[f"w{i}"] = weights((widths[i + 1], widths[i], 3, 3), i)
        constants[f"b{i}"] = weights((widths[i + 1],), 10 + i)
        y = f"conv{i}_out"
        nodes.append(helper.make_node("Conv", [x, f"w{i}", f"b{i}"], [y], name=f"conv{i}", pads=[1, 1, 1, 1]))
        x = y
        if i < 2:
            nodes.append(helper.make_node("Relu", [y], [f"relu{i}_out"], name=f"relu{i}"))
            x = f"relu{i}_out"
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["mean_out"], name="mean"))
    nodes.append(helper.make_node("Flatten", ["mean_out"], ["scores"], name="flatten"))
    return model(nodes, constants, [("images", kind, shape)], [("scores", TensorProto.FLOAT, [shape[0], 10])], **options)


def one_node(op, shape, kind=TensorProto.FLOAT, out_kind=None, domain="", **options):
    node = helper.make_node(op, ["x"], ["y"], name="node0", domain=domain)
    return model([node], {}, [("x", kind, shape)], [("y", out_kind or kind, shape)], **options)


def ultralytics():
    return convs(metadata={"stride": "32", "task": "classify", "imgsz": "[32, 32]", "names": str({i: f"c{i}" for i in range(10)})})


def nan_weight():
    made = convs()
    tensor = next(t for t in made.graph.initializer if t.name == "w1")
    values = numpy_helper.to_array(tensor).copy()
    values[3, 0, 0, 0] = np.nan
    tensor.CopyFrom(numpy_helper.from_array(values, "w1"))
    return made


def dead_channels():
    """Case 2 of the fault list: channel 1 all 0, channel 2 all -0.0, channel 3 at most 1e-6."""
    w = weights((4, 3, 3, 3), 5)
    w[1], w[2], w[3] = 0, -0.0, w[3] / np.abs(w[3]).max() * np.float32(1e-6)
    nodes = [helper.make_node("Conv", ["images", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])]
    return model(nodes, {"w": w}, [("images", TensorProto.FLOAT, (1, 3, 32, 32))], [("y", TensorProto.FLOAT, (1, 4, 32, 32))])


def checker_failure():
    made = convs()
    made.graph.node[1].input[0] = "nowhere"
    return made


def with_domain(imported):
    node = helper.make_node("QLinearAdd", ["x"], ["y"], name="add", domain="com.microsoft")
    other = helper.make_node("Frobnicate", ["x"], ["y"], name="frob", domain="org.unknown")
    imports = [helper.make_opsetid("org.unknown", 1)] if imported else []
    return model([other if imported else node], {}, [("x", TensorProto.FLOAT, (1, 3, 32, 32))],
                 [("y", TensorProto.FLOAT, (1, 3, 32, 32))], imports=imports)


def two_inputs():
    nodes = [helper.make_node("Add", ["a", "b"], ["y"], name="add")]
    ports = [(n, TensorProto.FLOAT, (1, 3, 32, 32)) for n in ("a", "b")]
    return model(nodes, {}, ports, [("y", TensorProto.FLOAT, (1, 3, 32, 32))])


def fixed_size():
    """A matrix product whose weight fits 32 x 32 only."""
    nodes = [helper.make_node("AveragePool", ["images"], ["pooled"], name="pool", kernel_shape=[8, 8], strides=[8, 8]),
             helper.make_node("Flatten", ["pooled"], ["flat"], name="flatten"),
             helper.make_node("Gemm", ["flat", "w"], ["scores"], name="gemm")]
    return model(nodes, {"w": weights((48, 10), 3)}, [("images", TensorProto.FLOAT, (1, 3, 32, 32))],
                 [("scores", TensorProto.FLOAT, (1, 10))])


THREE_CLASSES = {"names": str({0: "a", 1: "b", 2: "c"})}


def detector(numbers, name="output0", nodes=(), constants=None, made=None, **options):
    """`numbers` plus nothing of the image; `nodes` work on them as 'numbers' and make `name` of the shape `made`."""
    nothing = [helper.make_node("ReduceMean", ["images"], ["mean"], name="mean", axes=[1, 2, 3], keepdims=1),
               helper.make_node("Mul", ["mean", "zero"], ["nothing"], name="nothing"),
               helper.make_node("Reshape", ["nothing", "one"], ["scalar"], name="scalar"),
               helper.make_node("Add", ["scalar", "head"], ["numbers" if nodes else name], name="add")]
    held = {"zero": np.float32(0), "one": np.array([1], np.int64), "head": numbers.astype(np.float32), **(constants or {})}
    return model([*nothing, *nodes], held, [("images", TensorProto.FLOAT, (1, 3, 32, 32))],
                 [(name, TensorProto.FLOAT, made or numbers.shape)], **options)


def yolov8_numbers():
    """Seven rows for the 21 cells of a 32 x 32 input: six boxes of classes 0 and 1, two of them covered, one below a quarter."""
    numbers = np.zeros((1, 7, 21))
    boxes = [(10, 10, 8, 8, 0, .9), (10, 10.5, 8, 8, 0, .8), (22, 9, 9, 10, 1, .7), (22, 9, 9, 10.2, 1, .6), (8, 25, 6, 9, 0, .5), (25, 25, 7, 7, 1, .1)]
    for n, (x, y, w, h, c, score) in enumerate(boxes):
        numbers[0, :4, n] = x, y, w, h
        numbers[0, 4 + c, n] = score
    return numbers


def nms_inside():
    """The same, selected by NonMaxSuppression at a score of .25: 1 x K x 6."""
    h = helper.make_node
    x, y, w, e = yolov8_numbers()[0, :4]
    corners = np.stack([x - w / 2, y - e / 2, x + w / 2, y + e / 2], 1)[None]
    nodes = [h("Identity", ["numbers"], ["scores"], name="scores"),
             h("NonMaxSuppression", ["corners", "scores", "most", "iou", "low"], ["kept"], name="nms"),
             h("Gather", ["kept", "two"], ["box"], name="box", axis=1), h("Gather", ["corner_rows", "box"], ["xyxy"], name="xyxy"),
             h("GatherND", ["scores", "kept"], ["score"], name="score"), h("Unsqueeze", ["score", "last"], ["score_column"], name="column"),
             h("Gather", ["kept", "middle"], ["class"], name="class", axis=1), h("Cast", ["class"], ["class_column"], name="cast", to=1),
             h("Concat", ["xyxy", "score_column", "class_column"], ["rows"], name="rows", axis=1),
             h("Unsqueeze", ["rows", "first"], ["output0"], name="batch")]
    constants = {"corners": corners.astype(np.float32), "corner_rows": corners[0].astype(np.float32), "most": np.array([100], np.int64),
                 "iou": np.array([.7], np.float32), "low": np.array([.25], np.float32), "two": np.int64(2), "last": np.array([1], np.int64),
                 "middle": np.array([1], np.int64), "first": np.array([0], np.int64)}
    return detector(yolov8_numbers()[:, 4:], nodes=nodes, constants=constants, made=(1, "K", 6), metadata=THREE_CLASSES)


def yolox():
    """1 x 21 x 8, raw: a box of each class in the middle of the image."""
    numbers = np.zeros((1, 21, 8))
    numbers[0, [5, 6, 17], [5, 6, 7]] = .9
    numbers[0, :, 4] = 1
    return detector(numbers)


def future_ir():
    made = convs()
    made.ir_version = 99
    return made


def initializers_as_inputs():
    """IR 3: every initializer is among the inputs, too."""
    made = convs()
    made.ir_version = 3
    made.opset_import[0].version = 8
    for t in made.graph.initializer:
        made.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    return made


def branches():
    """Conv, then an If with a Conv in both branches; all three read one weight."""
    conv = lambda x, y: helper.make_node("Conv", [x, "w"], [y], name=y, pads=[1, 1, 1, 1])
    branch = lambda y: helper.make_graph([conv("a", y)], y, [], [helper.make_tensor_value_info(y, TensorProto.FLOAT, (1, 3, 32, 32))])
    nodes = [conv("images", "a"),
             helper.make_node("ReduceMax", ["a"], ["m"], keepdims=0),
             helper.make_node("Greater", ["m", "half"], ["flag"]),
             helper.make_node("If", ["flag"], ["y"], name="if", then_branch=branch("t"), else_branch=branch("e"))]
    return model(nodes, {"w": weights((3, 3, 3, 3), 1), "half": np.array(0.5, np.float32)},
                 [("images", TensorProto.FLOAT, (1, 3, 32, 32))], [("y", TensorProto.FLOAT, (1, 3, 32, 32))])


def external(folder):
    """Weights in a file of their own, offset and length given."""
    made = convs()
    (folder / "external").mkdir(exist_ok=True)
    (folder / "external/w.bin").unlink(missing_ok=True)  # onnx appends to it
    onnx.save(made, folder / "external/model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)


def half():
    """convs in float16 from end to end."""
    made = convs()
    for tensor in made.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    for port in [*made.graph.input, *made.graph.output]:
        port.type.tensor_type.elem_type = TensorProto.FLOAT16
    return made


def half_inside():
    """The same behind a Cast, with a Cast back at the end."""
    made = half()
    made.graph.node[0].input[0], made.graph.node[-1].output[0] = "half_images", "half_scores"
    made.graph.node.insert(0, helper.make_node("Cast", ["images"], ["half_images"], name="to_half", to=TensorProto.FLOAT16))
    made.graph.node.append(helper.make_node("Cast", ["half_scores"], ["scores"], name="to_float", to=TensorProto.FLOAT))
    for port in [*made.graph.input, *made.graph.output]:
        port.type.tensor_type.elem_type = TensorProto.FLOAT
    return made


def pixels(layout="nhwc"):
    """convs that takes bytes and divides them by 255 itself."""
    made = convs()
    made.graph.node[0].input[0] = "normalized"
    kept = layout == "nchw"
    nodes = [helper.make_node("Cast", ["images"], ["floats"], name="cast", to=TensorProto.FLOAT),
             helper.make_node("Div", ["floats", "byte"], ["normalized" if kept else "scaled"], name="div")]
    if not kept:
        nodes.append(helper.make_node("Transpose", ["scaled"], ["normalized"], name="transpose", perm=[0, 3, 1, 2]))
    for node in reversed(nodes):
        made.graph.node.insert(0, node)
    made.graph.initializer.append(numpy_helper.from_array(np.array(255, np.float32), "byte"))
    made.graph.input[0].CopyFrom(helper.make_tensor_value_info("images", TensorProto.UINT8, (1, 3, 32, 32) if kept else (1, 32, 32, 3)))
    return made


def no_output_shape():
    made = convs()
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


def fused_conv():
    """An operator that ONNX does not know in the middle: no shape behind it is known."""
    made = convs()
    node = made.graph.node[2]
    node.op_type, node.domain = "FusedConv", "com.microsoft"
    node.attribute.append(helper.make_attribute("activation", "Relu"))
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    flatten = made.graph.node[-1]
    flatten.output[0] = "flat"
    made.graph.node.append(helper.make_node("Gemm", ["flat", "g"], ["scores"], name="gemm"))
    made.graph.initializer.append(numpy_helper.from_array(weights((10, 10), 9), "g"))
    return made


def local_functions():
    """Conv and Relu in a function that is called twice."""
    body = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    block = helper.make_function("local", "Block", ["x", "w"], ["y"], body, [helper.make_opsetid("", 13)])
    nodes = [helper.make_node("Block", ["images", "w0"], ["a"], name="block0", domain="local"),
             helper.make_node("Block", ["a", "w1"], ["b"], name="block1", domain="local"),
             helper.make_node("GlobalAveragePool", ["b"], ["y"], name="mean")]
    made = model(nodes, {"w0": weights((8, 3, 3, 3), 0), "w1": weights((8, 8, 3, 3), 1)}, [("images", TensorProto.FLOAT, (1, 3, 32, 32))],
                 [("y", TensorProto.FLOAT, (1, 8, 1, 1))], imports=[helper.make_opsetid("local", 1)])
    made.ir_version = 8
    made.functions.append(block)
    return made


def chunked():
    """Ten channels cut into halves by what Shape says of them; the batch is free."""
    nodes = [helper.make_node("Conv", ["images", "w0"], ["a"], name="conv0", pads=[1, 1, 1, 1]),
             helper.make_node("Shape", ["a"], ["shape"], name="shape"), helper.make_node("Gather", ["shape", "one"], ["channels"], name="gather"),
             helper.make_node("Div", ["channels", "two"], ["half"], name="halve"),
             helper.make_node("Slice", ["a", "zero", "half", "one"], ["left"], name="left"),
             helper.make_node("Conv", ["left", "w1"], ["b"], name="conv1"),
             helper.make_node("Shape", ["b"], ["free"], name="free"), helper.make_node("Gather", ["free", "zero"], ["batch"], name="batch"),
             helper.make_node("Concat", ["batch", "rest"], ["target"], name="target", axis=0),
             helper.make_node("Reshape", ["b", "target"], ["y"], name="reshape")]
    numbers = {"zero": [0], "one": [1], "two": [2], "rest": [-1]}
    return model(nodes, {"w0": weights((10, 3, 3, 3), 0), "w1": weights((4, 5, 3, 3), 1),
                         **{name: np.array(n, np.int64) for name, n in numbers.items()}},
                 [("images", TensorProto.FLOAT, ("N", 3, 32, 32))], [("y", TensorProto.FLOAT, ("N", 3600))])


MODELS = {
    "half": half,
    "half_inside": half_inside,
    "pixels": pixels,
    "pixels_nchw": lambda: pixels("nchw"),
    "no_output_shape": no_output_shape,
    "fused_conv": fused_conv,
    "local_functions": local_functions,
    "chunked": chunked,
    "convs": convs,
    "ultralytics": ultralytics,
    "dynamic": lambda: convs(shape=("N", 3, "H", "W")),
    "batch4": lambda: convs(shape=(4, 3, 32, 32)),
    "dynamic_batch": lambda: convs(shape=("N", 3, 32, 32)),
    "rank2": lambda: one_node("Relu", (1, 3)),
    "int64": lambda: one_node("Abs", (1, 3, 32, 32), TensorProto.INT64),
    "five_channels": lambda: one_node("Relu", (1, 5, 32, 32)),
    "two_inputs": two_inputs,
    "relu": lambda: one_node("Relu", (1, 3, 32, 32)),
    "nan_weight": nan_weight,
    "dead_channels": dead_channels,
    "checker_failure": checker_failure,
    "no_import": lambda: with_domain(False),
    "unknown_domain": lambda: with_domain(True),
    "opset99": lambda: convs(opset=99),
    "future_ir": future_ir,
    "initializers_as_inputs": initializers_as_inputs,
    "branches": branches,
    "opset28": lambda: convs(opset=28),
    "fixed_size": fixed_size,
    "yolov8": lambda: detector(yolov8_numbers(), metadata=THREE_CLASSES),
    "nms_inside": nms_inside,
    "yolox": yolox,
}


def picture(seed, width=100, height=40, mode="RGB"):
    """Flat blocks, so that JPEG keeps them and networks see contrast."""
    blocks = np.random.default_rng(seed).integers(0, 256, (4, 10, 3)).astype(np.uint8)
    return Image.fromarray(blocks).resize((width, height), Image.Resampling.NEAREST).convert(mode)


def images(folder, count=20):
    folder.mkdir(exist_ok=True)
    for i in range(count):
        picture(i).save(folder / f"{i:02}.png")


def ten_images(folder):
    """Case 11 of the fault list: seven usable files and three that are not."""
    folder.mkdir(exist_ok=True)
    picture(0).save(folder / "rgb.png")
    picture(1, mode="L").save(folder / "grey.png")
    picture(2, mode="LA").save(folder / "grey_alpha.png")
    picture(3, mode="RGBA").save(folder / "rgba.png")
    picture(4).quantize(16).save(folder / "palette.png")
    picture(5, mode="CMYK").save(folder / "cmyk.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(6).save(folder / "exif6.jpg", exif=exif)
    jpeg = io.BytesIO()
    picture(7).save(jpeg, "JPEG")
    (folder / "truncated.jpg").write_bytes(jpeg.getvalue()[: len(jpeg.getvalue()) // 2])
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.jpg").write_text("no picture\n")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        onnx.save(make(), folder / f"{name}.onnx")
    external(folder)
    images(folder / "images")
    ten_images(folder / "ten")
    picture(0).save(folder / "photo.jpg")
    five = np.array([0.1, 0.2, 0.3, 0.4, 1.0], np.float32)  # case 13 of the fault list
    np.save(folder / "five.npy", np.broadcast_to(five[:, None, None, None], (5, 3, 32, 32)))
    np.save(folder / "samples.npy", np.random.default_rng(0).uniform(0, 1, (8, 3, 32, 32)).astype(np.float32))


if __name__ == "__main__":
    main()

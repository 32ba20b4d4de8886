#!/usr/bin/env python3
"""finish.py IN.onnx SCENES/data.yaml OUT.onnx: adds the metadata that YOLO exports carry, checks the model and saves it."""
import sys

import onnx


def main(source, yaml, out):
    model = onnx.load(source)
    names = dict(line.split(": ") for line in open(yaml).read().split("names:\n")[1].splitlines())
    size = model.graph.input[0].type.tensor_type.shape.dim[2].dim_value
    metadata = dict(description="demo detector of pare, YOLOv8 form, trained on drawn scenes", author="pare", task="detect", stride="32",
                    batch="1", imgsz=f"[{size}, {size}]", names=str({int(k): v for k, v in names.items()}))
    onnx.helper.set_model_props(model, metadata)
    model.graph.name, model.producer_name, model.producer_version = "demo_detector", "pare", ""
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, out)


if __name__ == "__main__":
    main(*sys.argv[1:])

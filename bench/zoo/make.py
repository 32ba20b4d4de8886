#!/usr/bin/env python3
"""Exports the networks of nets/ with random but lively weights, draws their samples and writes OUT_DIR/zoo.json.

$(./setup) make.py OUT_DIR [--only NAME ...]
"""

import argparse
import json
import logging
import warnings
import zlib
from pathlib import Path

import numpy as np
import onnx
import torch
from PIL import Image, ImageDraw, ImageFilter

from nets import NETS, Net
from samples import network_inputs

CALIBRATION, HELD_OUT = 60, 16


def draw_image(rng: np.random.Generator) -> Image.Image:
    """A smooth background, some shapes, a little noise."""
    side_x, side_y = (int(s) for s in rng.integers(112, 160, 2))
    colours = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    image = Image.fromarray(colours).resize((side_x, side_y), Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(image)
    for _ in range(int(rng.integers(2, 9))):
        x, y, wide, high = (int(v) for v in rng.integers(8, 100, 4))
        shape = pen.ellipse if rng.random() < 0.5 else pen.rectangle
        shape((x, y, x + wide // 2, y + high // 2), fill=tuple(int(c) for c in rng.integers(0, 256, 3)))
    if rng.random() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.5, 2))))
    noisy = np.asarray(image, np.float32) + rng.normal(0, rng.uniform(0, 12), (side_y, side_x, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def draw_images(folder: Path, count: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for i in range(count):
        draw_image(rng).save(folder / f"{i:04}.jpg", quality=92)


def draw_arrays(path: Path, net: Net, count: int, seed: int) -> None:
    """Smooth along the last axis, of a different size in each sample: what sensors and embeddings look like."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, shape in net.inputs.items():
        if name in net.integers:
            arrays[name] = rng.integers(0, net.integers[name], (count, *shape[1:]))
            continue
        x = rng.normal(0, 1, (count, *shape[1:])) * rng.uniform(0.5, 1.5, (count, *[1] * (len(shape) - 1)))
        arrays[name] = ((x + np.roll(x, 1, -1)) / 2**0.5).astype(np.float32)
    np.savez(path, **arrays)


def enliven(module: torch.nn.Module, samples: list[dict[str, np.ndarray]]) -> None:
    """Kaiming weights, norms that are no identity, running statistics of the samples: signals of every layer stay of order 1."""
    for part in module.modules():
        for name, parameter in part.named_parameters(recurse=False):
            fans = parameter[0].numel() if parameter.dim() > 1 else 0
            if isinstance(part, (torch.nn.modules.conv._ConvNd, torch.nn.Linear)) and name == "weight":
                torch.nn.init.normal_(parameter, 0, (1.5 / fans) ** 0.5)
            elif "norm" in type(part).__name__.lower() and name == "weight":
                torch.nn.init.uniform_(parameter, 0.3, 0.9)
            elif isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and name == "bias":
                # In the active half of what follows: around 0, random networks with BN amplify noise by a fifth a layer.
                torch.nn.init.normal_(parameter, 1.2, 0.5)
            elif name in ("gamma", "ls1", "ls2", "layer_scale"):
                torch.nn.init.uniform_(parameter, 0.3, 0.7)
            elif parameter.dim() == 1 and "bias" in name:
                torch.nn.init.normal_(parameter, 0, 0.1)
            elif name in ("cls_token", "dist_token", "pos_embed", "positions", "relative_position_bias_table"):
                torch.nn.init.normal_(parameter, 0, 0.5)
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.momentum = None  # a plain mean over the passes below
            part.reset_running_stats()
    module.train()
    batch = {name: np.concatenate([s[name] for s in samples]) for name in samples[0]}
    with torch.no_grad():
        for half in (slice(0, 8), slice(8, 16)):
            module(*(torch.from_numpy(x[half]) for x in batch.values()))
    module.eval()


def export(net: Net, samples: list[dict[str, np.ndarray]], path: Path) -> None:
    torch.manual_seed(zlib.crc32(net.name.removesuffix("_dynamo").encode()))
    module = net.build()
    if isinstance(module, onnx.ModelProto):
        onnx.save(module, path)
        return
    enliven(module, samples)
    arguments = tuple(
        torch.zeros(shape, dtype=torch.int64 if name in net.integers else None) for name, shape in net.inputs.items()
    )
    if net.half:
        module, arguments = module.half(), tuple(x.half() for x in arguments)
    names = dict(input_names=list(net.inputs), output_names=net.outputs, opset_version=net.opset)
    if net.exporter == "dynamo":
        if net.dynamic:  # a batch of 1 would be taken for a constant
            arguments = tuple(x.repeat(2, *[1] * (x.dim() - 1)) for x in arguments)
        shapes = tuple({0: torch.export.Dim("batch")} for _ in arguments) if net.dynamic else None
        torch.onnx.export(
            module, arguments, path, dynamo=True, external_data=False, dynamic_shapes=shapes, verbose=False, **names
        )
    else:
        axes = {name: {0: "batch"} for name in [*net.inputs, *net.outputs]} if net.dynamic else None
        torch.onnx.export(module, arguments, path, dynamo=False, dynamic_axes=axes, **names)
    if net.metadata:
        model = onnx.load(path)
        onnx.helper.set_model_props(model, net.metadata)
        onnx.save(model, path)
    if net.external:
        model = onnx.load(path)
        onnx.save(model, path, save_as_external_data=True, location=path.name + ".data", size_threshold=256)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", help="names")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")

    out: Path = arguments.out
    draw_images(out / "images", CALIBRATION, 1)
    draw_images(out / "held_out", HELD_OUT, 2)
    listing = out / "zoo.json"
    rows = {row["name"]: row for row in json.loads(listing.read_text())} if listing.exists() else {}
    for name in arguments.only or NETS:
        net = NETS[name]
        path = out / f"{name}.onnx"
        data, held_out = out / "images", out / "held_out"
        if net.data == "npz":
            data, held_out = out / f"{name}.npz", out / f"{name}_held_out.npz"
            draw_arrays(data, net, CALIBRATION, 3)
            draw_arrays(held_out, net, HELD_OUT, 4)
        try:
            export(net, network_inputs(held_out, net.inputs, net.options), path)
        except Exception as error:  # one exporter that fails must not cost the other networks
            print(f"{name}: not exported: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
            continue
        fields = ("name", "kind", "options", "selects", "expect", "conv", "inputs")
        rows[name] = {f: getattr(net, f) for f in fields} | {"path": path.name, "data": data.name, "held_out": held_out.name}
        print(f"{name}: {path.stat().st_size / 1e6:.2f} MB", flush=True)
    listing.write_text(json.dumps([rows[name] for name in NETS if name in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()

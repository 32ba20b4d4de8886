"""Held-out samples as the networks' inputs; the presets of `pare quantize --preprocess` in numpy."""

from pathlib import Path

import numpy as np
from PIL import Image

Shapes = dict[str, tuple[int, ...]]
MEAN_STD = {
    "imagenet": ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]),
    "tf": ([127.0] * 3, [128.0] * 3),
    "unit": ([0.0] * 3, [255.0] * 3),
    "yolo": ([0.0] * 3, [255.0] * 3),
    "none": ([0.0] * 3, [1.0] * 3),
}


def read_image(path: Path, shape: tuple[int, ...], preset: str) -> np.ndarray:
    # Stretched, where some presets crop or letterbox: both networks get the same pixels, so only their distribution counts.
    nhwc = shape[-1] == 3
    high, wide = shape[1:3] if nhwc else shape[2:4]
    pixels = np.asarray(Image.open(path).convert("RGB").resize((wide, high), Image.Resampling.BILINEAR), np.float32)
    mean, std = MEAN_STD[preset]
    x = ((pixels - np.float32(mean)) / np.float32(std))[None]
    return np.ascontiguousarray(x if nhwc else x.transpose(0, 3, 1, 2))


def network_inputs(source: Path, shapes: Shapes, options: list[str]) -> list[dict[str, np.ndarray]]:
    """One dict per sample, batch 1."""
    if source.suffix == ".npz":
        arrays = np.load(source)
        count = len(arrays[next(iter(shapes))])
        return [{name: arrays[name][i : i + 1] for name in shapes} for i in range(count)]
    preset = options[options.index("--preprocess") + 1] if "--preprocess" in options else "unit"
    ((name, shape),) = shapes.items()
    return [{name: read_image(path, tuple(shape), preset)} for path in sorted(source.glob("*.jpg"))]

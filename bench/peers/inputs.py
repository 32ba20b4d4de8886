"""What every tool reads: its job from the command line, and the calibration images, preprocessed as judge.py does it."""
import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnx

Feed = dict[str, np.ndarray]


def letterbox(image: np.ndarray, size: int = 640) -> np.ndarray:
    """YOLO's: keeps the aspect ratio, pads with grey 114; RGB in 0..1."""
    h, w = image.shape[:2]
    ratio = min(size / h, size / w)
    new_w, new_h = round(w * ratio), round(h * ratio)
    if (new_w, new_h) != (w, h):
        image = cv2.resize(image, (new_w, new_h), interpolation=cv2.INTER_LINEAR)
    # The .1 sends a half pixel to the far side, as Ultralytics does.
    top, left = round((size - new_h) / 2 - 0.1), round((size - new_w) / 2 - 0.1)
    image = cv2.copyMakeBorder(image, top, size - new_h - top, left, size - new_w - left, cv2.BORDER_CONSTANT, value=(114,) * 3)
    return image[:, :, ::-1].astype(np.float32) / 255


def crop(image: np.ndarray, size: int = 224) -> np.ndarray:
    """EfficientNet-Lite's: the centre of an image whose short side is 256; (RGB - 127) / 128."""
    h, w = image.shape[:2]
    top, left = (h - size) // 2, (w - size) // 2
    return (image[top:top + size, left:left + size, ::-1].astype(np.float32) - 127) / 128


PREPROCESS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"letterbox": letterbox, "crop": crop}


@dataclass(frozen=True)
class Job:
    model: str
    out: str
    setting: str
    images: list[str]
    preprocess: Callable[[np.ndarray], np.ndarray]

    def feeds(self) -> Iterator[Feed]:
        """One feed of batch 1 for each image, read when it is asked for."""
        name = onnx.load(self.model).graph.input[0].name
        for path in self.images:
            hwc = self.preprocess(cv2.imread(path))
            yield {name: np.ascontiguousarray(hwc.transpose(2, 0, 1)[None])}


class Reader:
    """The feeds in the form of onnxruntime's CalibrationDataReader."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.rewind()

    def get_next(self) -> Feed | None:
        return next(self.left, None)

    def rewind(self) -> None:
        self.left = self.job.feeds()

    def __len__(self) -> int:
        return len(self.job.images)


@contextmanager
def prepared(model: str) -> Iterator[str]:
    """The model after onnxruntime's quant_pre_process, for the tools that have no graph clean-up of their own."""
    from onnxruntime.quantization.shape_inference import quant_pre_process  # not every venv has what this import needs
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "prepared.onnx")
        quant_pre_process(model, path)
        yield path


def job() -> Job:
    parser = argparse.ArgumentParser(description=f"{sys.argv[0]}: quantizes one model with one setting")
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--setting", required=True)
    parser.add_argument("--images", required=True, help="text file, one path a line")
    parser.add_argument("--limit", type=int, help="use the first N images")
    parser.add_argument("--preprocess", choices=PREPROCESS, required=True)
    a = parser.parse_args()
    with open(a.images) as f:
        images = f.read().splitlines()[:a.limit]
    return Job(a.model, a.out, a.setting, images, PREPROCESS[a.preprocess])

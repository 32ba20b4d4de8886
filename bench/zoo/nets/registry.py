"""The list of networks. A builder registers itself with @net; make.py exports what is registered."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Net:
    name: str
    kind: str
    build: Callable[[], Any]
    inputs: dict[str, Shape]
    exporter: str = "torchscript"  # torchscript, dynamo, or onnx: build() gives the ModelProto itself
    opset: int = 17
    data: str = "images"  # images, or npz: random arrays, one row a sample
    options: list[str] = field(default_factory=list)  # of pare quantize
    outputs: list[str] = field(default_factory=lambda: ["output"])
    dynamic: bool = False  # the batch
    half: bool = False  # weights and activations in fp16, input and output too
    external: bool = False  # weights in a file beside the model
    integers: dict[str, int] = field(default_factory=dict)  # inputs of int64 -> how many values they have
    metadata: dict[str, str] = field(default_factory=dict)  # of the file
    selects: bool = False  # outputs are a selection (TopK, NMS): an order that flips is no error of arithmetic
    expect: str = "int8"  # int8, float (stays float with a reason), refused
    conv: bool = True  # convolutional: at least 95 % of the multiply-adds belong in integer kernels


NETS: dict[str, Net] = {}


def net(
    name: str, kind: str, inputs: dict[str, Shape] | Shape, **settings: Any
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    if not isinstance(inputs, dict):
        inputs = {"images": inputs}
    if settings.get("data", "images") == "images":
        settings.setdefault("options", ["--preprocess", "imagenet"])

    def register(build: Callable[[], Any]) -> Callable[[], Any]:
        assert name not in NETS, f"two networks are called {name}"
        NETS[name] = Net(name, kind, build, inputs, **settings)
        return build

    return register

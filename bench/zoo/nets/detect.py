"""Detectors: one small backbone and the heads of the field, in our own words."""

import torch
import torchvision
from torch import Tensor, nn
from torch.nn import functional

from nets.registry import net
from nets.sequence import EncoderLayer

SIZE = 128
IMAGE = (1, 3, SIZE, SIZE)
YOLO = ["--preprocess", "yolo"]
STRIDES = (8, 16, 32)
WIDTHS = (32, 48, 64)
CLASSES = 6


class ConvBlock(nn.Sequential):
    def __init__(
        self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: type[nn.Module] = nn.SiLU
    ) -> None:
        conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs), act())


class SplitBlock(nn.Module):
    """Half of the channels pass, half go through a residual pair; all are joined."""

    def __init__(self, inputs: int, outputs: int, act: type[nn.Module]) -> None:
        super().__init__()
        half = outputs // 2
        self.enter = ConvBlock(inputs, outputs, 1, act=act)
        self.inner = nn.Sequential(ConvBlock(half, half, act=act), ConvBlock(half, half, act=act))
        self.leave = ConvBlock(3 * half, outputs, 1, act=act)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.enter(x).chunk(2, 1)
        return self.leave(torch.cat([a, b, b + self.inner(b)], 1))


class Pyramid(nn.Module):
    """Three levels of features, joined from coarse to fine."""

    def __init__(self, act: type[nn.Module] = nn.SiLU, inputs: int = 3, stride: int = 2) -> None:
        super().__init__()
        a, b, c = WIDTHS
        self.stem = nn.Sequential(ConvBlock(inputs, 16, 3, stride, act=act), ConvBlock(16, 24, 3, 2, act=act))
        self.levels = nn.ModuleList(
            nn.Sequential(ConvBlock(i, o, 3, 2, act=act), SplitBlock(o, o, act)) for i, o in zip((24, a, b), WIDTHS)
        )
        self.enter, self.leave = ConvBlock(c, c // 2, 1, act=act), ConvBlock(2 * c, c, 1, act=act)
        self.merge = nn.ModuleList([SplitBlock(b + c, b, act), SplitBlock(a + b, a, act)])

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x)
        features = []
        for level in self.levels:
            x = level(x)
            features.append(x)
        fine, middle, coarse = features
        pooled = [self.enter(coarse)]
        for _ in range(3):
            pooled.append(functional.max_pool2d(pooled[-1], 5, 1, 2))
        coarse = self.leave(torch.cat(pooled, 1))
        middle = self.merge[0](torch.cat([functional.interpolate(coarse, scale_factor=2.0), middle], 1))
        fine = self.merge[1](torch.cat([functional.interpolate(middle, scale_factor=2.0), fine], 1))
        return [fine, middle, coarse]


def centres() -> tuple[Tensor, Tensor]:
    """x and y of every cell's centre in cells, and the stride of its level: (2, cells), (1, cells)."""
    points, strides = [], []
    for stride in STRIDES:
        side = SIZE // stride
        y, x = torch.meshgrid(torch.arange(side) + 0.5, torch.arange(side) + 0.5, indexing="ij")
        points.append(torch.stack([x.flatten(), y.flatten()]))
        strides.append(torch.full((1, side * side), float(stride)))
    return torch.cat(points, 1), torch.cat(strides, 1)


def heads(outputs: int, act: type[nn.Module] = nn.SiLU) -> nn.ModuleList:
    return nn.ModuleList(nn.Sequential(ConvBlock(w, w, act=act), nn.Conv2d(w, outputs, 1)) for w in WIDTHS)


class Anchored(nn.Module):
    """Anchors and objectness: (batch, cells * 3, 5 + classes), or the raw maps of each level."""

    def __init__(self, decode: bool, act: type[nn.Module] = nn.SiLU) -> None:
        super().__init__()
        self.pyramid, self.heads, self.decode = Pyramid(act), heads(3 * (5 + CLASSES), act), decode
        self.register_buffer(
            "anchors", torch.tensor([[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 90], [80, 70, 90, 110, 120, 118]]).float()
        )

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        maps = [head(f) for head, f in zip(self.heads, self.pyramid(x))]
        if not self.decode:
            return tuple(maps)
        decoded = []
        for level, stride in enumerate(STRIDES):
            batch, _, high, wide = maps[level].shape
            y = maps[level].view(batch, 3, 5 + CLASSES, high, wide).permute(0, 1, 3, 4, 2).sigmoid()
            rows, columns = torch.meshgrid(torch.arange(high), torch.arange(wide), indexing="ij")
            grid = torch.stack([columns, rows], -1).float()
            xy = (y[..., :2] * 2 - 0.5 + grid) * stride
            wh = (y[..., 2:4] * 2) ** 2 * self.anchors[level].view(1, 3, 1, 1, 2)
            decoded.append(torch.cat([xy, wh, y[..., 4:]], -1).view(batch, -1, 5 + CLASSES))
        return torch.cat(decoded, 1)


@net("yolov5", "YOLOv5 form: anchors, objectness, decoded", IMAGE, options=YOLO)
def yolov5() -> nn.Module:
    return Anchored(decode=True)


@net("yolov5_raw", "YOLOv5 form, one raw output per level", IMAGE, options=YOLO, outputs=["p3", "p4", "p5"])
def yolov5_raw() -> nn.Module:
    return Anchored(decode=False)


@net("yolov7_leaky", "YOLOv5 form, LeakyReLU, opset 12", IMAGE, options=YOLO, opset=12)
def yolov7_leaky() -> nn.Module:
    return Anchored(decode=True, act=lambda: nn.LeakyReLU(0.1))


class Distances(nn.Module):
    """No anchors; each side's distance is the mean of a distribution over 16 bins (DFL); (batch, 4 + classes + extra, cells)."""

    def __init__(self, bins: int = 16, extra: int = 0) -> None:
        super().__init__()
        self.pyramid, self.boxes, self.classes, self.bins = Pyramid(), heads(4 * bins), heads(CLASSES), bins
        self.extra = heads(extra) if extra else None
        points, strides = centres()
        self.register_buffer("points", points)
        self.register_buffer("strides", strides)
        self.register_buffer("weights", torch.arange(bins).float().view(1, 1, bins, 1))

    def parts(self, features: list[Tensor]) -> tuple[Tensor, Tensor]:
        boxes = torch.cat([head(f).flatten(2) for head, f in zip(self.boxes, features)], 2)
        scores = torch.cat([head(f).flatten(2) for head, f in zip(self.classes, features)], 2).sigmoid()
        batch, _, cells = boxes.shape
        distances = (boxes.view(batch, 4, self.bins, cells).softmax(2) * self.weights).sum(2)
        before, behind = distances.chunk(2, 1)
        low, high = self.points - before, self.points + behind
        return torch.cat([low, high], 1) * self.strides, scores

    def raw_extra(self, features: list[Tensor]) -> Tensor:
        return torch.cat([head(f).flatten(2) for head, f in zip(self.extra, features)], 2)

    def forward(self, x: Tensor) -> Tensor:
        corners, scores = self.parts(self.pyramid(x))
        low, high = corners.chunk(2, 1)
        return torch.cat([(low + high) / 2, high - low, scores], 1)


@net("yolov8", "YOLOv8 form: DFL", IMAGE, options=YOLO)
def yolov8() -> nn.Module:
    return Distances()


@net("yolov8_dynamo", "YOLOv8 form, dynamo export", IMAGE, options=YOLO, exporter="dynamo", opset=18)
def yolov8_dynamo() -> nn.Module:
    return Distances()


METADATA = {
    "description": "zoo",
    "stride": "32",
    "task": "detect",
    "batch": "1",
    "imgsz": f"[{SIZE}, {SIZE}]",
    "names": str({i: f"class{i}" for i in range(CLASSES)}),
}


@net(
    "yolov8_metadata",
    "YOLOv8 form, dynamic, preprocessing from the file's metadata",
    IMAGE,
    options=[],
    dynamic=True,
    metadata=METADATA,
)
def yolov8_metadata() -> nn.Module:
    return Distances()


@net("yolov8_batch4", "YOLOv8 form, batch frozen to 4", (4, 3, SIZE, SIZE), options=YOLO)
def yolov8_batch4() -> nn.Module:
    return Distances()


@net("yolov8_half", "YOLOv8 form in fp16", IMAGE, options=YOLO, half=True)
def yolov8_half() -> nn.Module:
    return Distances()


class Segment(Distances):
    """Mask coefficients behind the scores, prototypes as second output."""

    def __init__(self) -> None:
        super().__init__(extra=8)
        self.prototypes = nn.Sequential(
            ConvBlock(WIDTHS[0], 32), nn.ConvTranspose2d(32, 32, 2, 2), ConvBlock(32, 32), ConvBlock(32, 8, 1)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.pyramid(x)
        return torch.cat([*self.parts(features), self.raw_extra(features)], 1), self.prototypes(features[0])


@net("yolov8_segment", "YOLOv8 form with masks", IMAGE, options=YOLO, outputs=["output0", "output1"])
def yolov8_segment() -> nn.Module:
    return Segment()


class Pose(Distances):
    """Seven points with visibility behind the scores."""

    def __init__(self) -> None:
        super().__init__(extra=21)

    def forward(self, x: Tensor) -> Tensor:
        features = self.pyramid(x)
        boxes = torch.cat(self.parts(features), 1)
        raw = self.raw_extra(features)
        batch, _, cells = raw.shape
        raw = raw.view(batch, 7, 3, cells)
        xy = (raw[:, :, :2] * 2 + (self.points - 0.5)) * self.strides
        points = torch.cat([xy, raw[:, :, 2:].sigmoid()], 2)
        return torch.cat([boxes, points.view(batch, 21, cells)], 1)


@net("yolov8_pose", "YOLOv8 form with key points", IMAGE, options=YOLO)
def yolov8_pose() -> nn.Module:
    return Pose()


class EndToEnd(Distances):
    """The best 50 cells, no NMS: (batch, 50, 6) of corners, score, class."""

    def forward(self, x: Tensor) -> Tensor:
        corners, scores = self.parts(self.pyramid(x))
        corners, scores = corners.transpose(1, 2), scores.transpose(1, 2)
        best = scores.amax(2).topk(50, 1).indices.unsqueeze(2)
        corners = corners.gather(1, best.expand(-1, -1, 4))
        scores = scores.gather(1, best.expand(-1, -1, CLASSES))
        score, index = scores.flatten(1).topk(50, 1)
        corners = corners.gather(1, (index // CLASSES).unsqueeze(2).expand(-1, -1, 4))
        return torch.cat([corners, score.unsqueeze(2), (index % CLASSES).unsqueeze(2).float()], 2)


@net("yolov10", "YOLOv10 form: TopK inside", IMAGE, options=YOLO, selects=True)
def yolov10() -> nn.Module:
    return EndToEnd()


class Suppressed(Distances):
    """NonMaxSuppression inside: rows of batch index, corners, class, score."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        corners, scores = self.parts(self.pyramid(x))
        score, label = scores[0].max(0)
        kept = torchvision.ops.nms(corners[0].transpose(0, 1), score, 0.5)
        return torch.cat([corners[0].transpose(0, 1)[kept], score[kept].unsqueeze(1)], 1), label[kept]


@net("yolov8_nms", "NonMaxSuppression inside", IMAGE, options=YOLO, selects=True, outputs=["boxes", "labels"])
def yolov8_nms() -> nn.Module:
    return Suppressed()


class Decoupled(nn.Module):
    """YOLOX: space to depth at the input, boxes exp-decoded, objectness: (batch, cells, 5 + classes). Pixels are 0..255."""

    def __init__(self, decode: bool = True) -> None:
        super().__init__()
        self.pyramid, self.boxes, self.scores, self.decode = Pyramid(inputs=12, stride=1), heads(4), heads(1 + CLASSES), decode
        points, strides = centres()
        self.register_buffer("grid", (points - 0.5).t())
        self.register_buffer("strides", strides.t())

    def forward(self, x: Tensor) -> Tensor:
        pieces = [x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]]
        levels = []
        for feature, box, score in zip(self.pyramid(torch.cat(pieces, 1)), self.boxes, self.scores):
            levels.append(torch.cat([box(feature), score(feature).sigmoid()], 1).flatten(2))
        y = torch.cat(levels, 2).transpose(1, 2)
        if not self.decode:
            return y
        return torch.cat([(y[..., :2] + self.grid) * self.strides, y[..., 2:4].exp() * self.strides, y[..., 4:]], 2)


@net("yolox", "YOLOX form: Focus, decoded with Exp", IMAGE, options=["--preprocess", "none"])
def yolox() -> nn.Module:
    return Decoupled()


@net("yolox_raw", "YOLOX form, not decoded", IMAGE, options=["--preprocess", "none"])
def yolox_raw() -> nn.Module:
    return Decoupled(decode=False)


class NanoDet(nn.Module):
    """Depthwise, LeakyReLU; scores and distributions in one row per cell, boxes not decoded: (batch, cells, classes + 4 * 8)."""

    def __init__(self) -> None:
        super().__init__()
        act = lambda: nn.LeakyReLU(0.1)  # noqa: E731
        self.pyramid = Pyramid(act)
        self.heads = nn.ModuleList(
            nn.Sequential(ConvBlock(w, w, 5, groups=w, act=act), ConvBlock(w, w, 1, act=act), nn.Conv2d(w, CLASSES + 32, 1))
            for w in WIDTHS
        )

    def forward(self, x: Tensor) -> Tensor:
        rows = []
        for head, feature in zip(self.heads, self.pyramid(x)):
            scores, boxes = head(feature).split([CLASSES, 32], 1)
            rows.append(torch.cat([scores.sigmoid(), boxes], 1).flatten(2))
        return torch.cat(rows, 2).permute(0, 2, 1)


@net("nanodet", "NanoDet form", IMAGE, options=["--preprocess", "imagenet"])
def nanodet() -> nn.Module:
    return NanoDet()


class SingleShot(nn.Module):
    """SSD: priors, Softmax over classes, boxes as corners in 0..1."""

    def __init__(self) -> None:
        super().__init__()
        self.pyramid = Pyramid(nn.ReLU6)
        self.boxes = nn.ModuleList(nn.Conv2d(w, 4 * 2, 3, 1, 1) for w in WIDTHS)
        self.scores = nn.ModuleList(nn.Conv2d(w, (CLASSES + 1) * 2, 3, 1, 1) for w in WIDTHS)
        points, strides = centres()
        centre = (points * strides / SIZE).t().repeat_interleave(2, 0)
        side = (strides / SIZE * 3).t().repeat_interleave(2, 0) * torch.tensor([1.0, 1.5]).repeat(points.shape[1]).unsqueeze(1)
        self.register_buffer("priors", torch.cat([centre, side.expand(-1, 2)], 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.pyramid(x)
        rows = [m(f).permute(0, 2, 3, 1).flatten(1) for m, f in zip(self.boxes, features)]
        boxes = torch.cat(rows, 1).view(x.shape[0], -1, 4)
        rows = [m(f).permute(0, 2, 3, 1).flatten(1) for m, f in zip(self.scores, features)]
        scores = torch.cat(rows, 1).view(x.shape[0], -1, CLASSES + 1).softmax(2)
        centre = self.priors[:, :2] + boxes[..., :2] * 0.1 * self.priors[:, 2:]
        side = self.priors[:, 2:] * (boxes[..., 2:] * 0.2).exp()
        return scores, torch.cat([centre - side / 2, centre + side / 2], 2)


@net("ssd", "SSD head: Softmax, boxes in 0..1", IMAGE, options=["--preprocess", "unit"], outputs=["scores", "boxes"])
def ssd() -> nn.Module:
    return SingleShot()


class Decoder(nn.Module):
    """Learned queries look at each other and at the encoded picture: scores and boxes in 0..1."""

    def __init__(self, width: int = 64, queries: int = 30, layers: int = 2) -> None:
        super().__init__()
        self.pyramid = Pyramid(nn.ReLU)
        self.enter = nn.ModuleList(nn.Conv2d(w, width, 1) for w in WIDTHS[1:])
        self.encoder = EncoderLayer(width, 4)
        self.queries = nn.Parameter(torch.randn(1, queries, width))
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(width, 4, 128, dropout=0.0, batch_first=True, activation="relu") for _ in range(layers)
        )
        self.scores = nn.Linear(width, CLASSES)
        self.boxes = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        maps = [enter(f).flatten(2) for enter, f in zip(self.enter, self.pyramid(x)[1:])]
        memory = self.encoder(torch.cat(maps, 2).transpose(1, 2))
        y = self.queries.expand(x.shape[0], -1, -1)
        for layer in self.layers:
            y = layer(y, memory)
        return self.scores(y), self.boxes(y).sigmoid()


@net(
    "detr", "DETR form: transformer decoder", IMAGE, options=["--preprocess", "imagenet"], outputs=["logits", "boxes"], conv=False
)
def detr() -> nn.Module:
    return Decoder()


@net(
    "detr_dynamo",
    "DETR form, dynamo export, opset 20",
    IMAGE,
    options=["--preprocess", "imagenet"],
    outputs=["logits", "boxes"],
    conv=False,
    exporter="dynamo",
    opset=20,
)
def detr_dynamo() -> nn.Module:
    return Decoder()

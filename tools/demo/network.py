"""The demo detector: a small network of YOLOv8's form (C2f blocks, SPPF, FPN and PAN, three scales, boxes as distributions)."""
import torch
from torch import nn

STRIDES = (8, 16, 32)
BINS = 16  # a box side is the mean of a distribution over 0..15 strides


class ConvUnit(nn.Module):
    """Convolution, batch normalization, SiLU."""

    def __init__(self, inputs, outputs, kernel=1, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.norm(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, width, shortcut):
        super().__init__()
        self.first, self.second, self.shortcut = ConvUnit(width, width, 3), ConvUnit(width, width, 3), shortcut

    def forward(self, x):
        y = self.second(self.first(x))
        return x + y if self.shortcut else y


class C2f(nn.Module):
    """Splits in two halves; the second goes on through a bottleneck; all parts are concatenated."""

    def __init__(self, inputs, outputs, shortcut):
        super().__init__()
        self.half = outputs // 2
        self.enter = ConvUnit(inputs, outputs)
        self.inner = Bottleneck(self.half, shortcut)
        self.leave = ConvUnit(3 * self.half, outputs)

    def forward(self, x):
        kept, moved = self.enter(x).split((self.half, self.half), 1)
        return self.leave(torch.cat((kept, moved, self.inner(moved)), 1))


class SPPF(nn.Module):
    """Three max pools in a row, all four stages concatenated."""

    def __init__(self, width):
        super().__init__()
        self.enter, self.leave = ConvUnit(width, width // 2), ConvUnit(2 * width, width)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        stages = [self.enter(x)]
        for _ in range(3):
            stages.append(self.pool(stages[-1]))
        return self.leave(torch.cat(stages, 1))


class Branch(nn.Sequential):
    """Two 3x3 units and a linear 1x1 convolution: one head on one scale."""

    def __init__(self, inputs, width, outputs):
        super().__init__(ConvUnit(inputs, width, 3), ConvUnit(width, width, 3), nn.Conv2d(width, outputs, 1))


class Detector(nn.Module):
    """`size` is the side of the square input. In training the result is the raw head, batch x (4 BINS + classes) x anchors;
    otherwise batch x (4 + classes) x anchors: centre x, centre y, width, height in pixels, then scores in 0..1."""

    def __init__(self, classes, size, widths=(16, 24, 32, 48, 64), head=24):
        super().__init__()
        w = widths
        self.classes, self.size = classes, size
        self.stem = ConvUnit(3, w[0], 3, 2)
        self.down2, self.block2 = ConvUnit(w[0], w[1], 3, 2), C2f(w[1], w[1], True)
        self.down3, self.block3 = ConvUnit(w[1], w[2], 3, 2), C2f(w[2], w[2], True)
        self.down4, self.block4 = ConvUnit(w[2], w[3], 3, 2), C2f(w[3], w[3], True)
        self.down5, self.block5 = ConvUnit(w[3], w[4], 3, 2), C2f(w[4], w[4], True)
        self.sppf = SPPF(w[4])
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.fuse4, self.fuse3 = C2f(w[4] + w[3], w[3], False), C2f(w[3] + w[2], w[2], False)
        self.pan3, self.out4 = ConvUnit(w[2], w[2], 3, 2), C2f(w[2] + w[3], w[3], False)
        self.pan4, self.out5 = ConvUnit(w[3], w[3], 3, 2), C2f(w[3] + w[4], w[4], False)
        self.boxes = nn.ModuleList(Branch(n, head, 4 * BINS) for n in w[2:])
        self.scores = nn.ModuleList(Branch(n, head, classes) for n in w[2:])
        self.mean = nn.Conv2d(BINS, 1, 1, bias=False).requires_grad_(False)
        self.mean.weight.data[:] = torch.arange(BINS, dtype=torch.float32).view(1, BINS, 1, 1)
        for branch in self.scores:
            nn.init.constant_(branch[-1].bias, -5.0)  # few anchors hold an object
        for branch in self.boxes:
            branch[-1].bias.data[:] = -0.4 * torch.arange(BINS).repeat(4)  # boxes of about 4 strides
        points, strides = [], []
        for stride in STRIDES:
            steps = torch.arange(size // stride) + 0.5
            y, x = torch.meshgrid(steps, steps, indexing="ij")
            points.append(torch.stack((x.flatten(), y.flatten())))
            strides.append(torch.full((1, steps.numel() ** 2), float(stride)))
        self.register_buffer("points", torch.cat(points, 1), persistent=False)    # 2 x anchors, in strides
        self.register_buffer("strides", torch.cat(strides, 1), persistent=False)  # 1 x anchors

    def features(self, x):
        p3 = self.block3(self.down3(self.block2(self.down2(self.stem(x)))))
        p4 = self.block4(self.down4(p3))
        p5 = self.sppf(self.block5(self.down5(p4)))
        n4 = self.fuse4(torch.cat((self.up(p5), p4), 1))
        n3 = self.fuse3(torch.cat((self.up(n4), p3), 1))
        m4 = self.out4(torch.cat((self.pan3(n3), n4), 1))
        return n3, m4, self.out5(torch.cat((self.pan4(m4), p5), 1))

    def sides(self, raw):
        """Distances left, top, right, bottom from the anchors, in strides: batch x 4 x anchors."""
        bins = raw.reshape(raw.shape[0] if self.training else 1, 4, BINS, self.points.shape[1]).transpose(2, 1)
        return self.mean(bins.softmax(1)).reshape(-1, 4, self.points.shape[1])

    def forward(self, x):
        batch = x.shape[0] if self.training else 1
        scales = [torch.cat((box(f), score(f)), 1).reshape(batch, 4 * BINS + self.classes, -1)
                  for f, box, score in zip(self.features(x), self.boxes, self.scores)]
        raw = torch.cat(scales, 2)
        if self.training:
            return raw
        boxes, scores = raw.split((4 * BINS, self.classes), 1)
        near, far = self.sides(boxes).split((2, 2), 1)
        low, high = self.points - near, self.points + far
        return torch.cat((torch.cat(((low + high) / 2, high - low), 1) * self.strides, scores.sigmoid()), 1)

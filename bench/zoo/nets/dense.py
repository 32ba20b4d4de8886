"""Networks whose output is a picture."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from nets.registry import net

IMAGE = (1, 3, 64, 64)


def block(inputs: int, outputs: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, dilation, dilation, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [16, 32, 48]
        self.down = nn.ModuleList(nn.Sequential(block(i, o), block(o, o)) for i, o in zip([3, *widths], [*widths, 64]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, 2) for i, o in zip([64, 48, 32], [48, 32, 16]))
        self.join = nn.ModuleList(block(2 * w, w) for w in [48, 32, 16])
        self.head = nn.Conv2d(16, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for i, stage in enumerate(self.down):
            x = stage(x if i == 0 else functional.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([up(x), skips.pop()], 1))
        return self.head(x)


@net("unet", "U-Net with ConvTranspose", IMAGE, conv=False)
def unet() -> nn.Module:
    return UNet()


class DeepLab(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(block(3, 24, 2), block(24, 48, 2))
        self.rates = nn.ModuleList(block(48, 32, dilation=d) for d in (1, 2, 4))
        self.pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(48, 32, 1), nn.ReLU())
        self.head = nn.Sequential(nn.Conv2d(128, 48, 1, bias=False), nn.BatchNorm2d(48), nn.ReLU(), nn.Conv2d(48, 6, 1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        pooled = functional.interpolate(self.pooled(y), size=y.shape[-2:], mode="bilinear", align_corners=False)
        y = self.head(torch.cat([*(rate(y) for rate in self.rates), pooled], 1))
        return functional.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


@net("deeplab", "dilated branches, Resize to the picture's size", IMAGE)
def deeplab() -> nn.Module:
    return DeepLab()


class Labels(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = DeepLab()

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x).argmax(1)


@net("deeplab_argmax", "the output is an int64 map of classes", IMAGE, selects=True)
def deeplab_argmax() -> nn.Module:
    return Labels()


class SuperResolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 32, 5, 1, 2), nn.PReLU(32), nn.Conv2d(32, 32, 3, 1, 1), nn.PReLU(), nn.Conv2d(32, 12, 3, 1, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.pixel_shuffle(self.body(x), 2)


@net("super_resolution", "PReLU, DepthToSpace, picture out", IMAGE)
def super_resolution() -> nn.Module:
    return SuperResolution()


class Style(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.ReflectionPad2d(3),
            nn.Conv2d(3, 16, 7),
            nn.InstanceNorm2d(16, affine=True),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.GroupNorm(4, 32),
            nn.Mish(),
        )
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(32, 16, 3, 1, 1), nn.Softplus(), nn.Conv2d(16, 3, 3, 1, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.up(self.down(x)))


@net("style", "reflected Pad, InstanceNorm, GroupNorm, Mish, Upsample, Tanh", IMAGE)
def style() -> nn.Module:
    return Style()


class Warp(nn.Module):
    """A flow is estimated and the picture is sampled along it; the filter that smooths it is computed, too."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = nn.Sequential(block(3, 24), block(24, 24), nn.Conv2d(24, 2, 3, 1, 1))
        self.filter = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 27))

    def forward(self, x: Tensor) -> Tensor:
        grid = functional.affine_grid(torch.eye(2, 3).repeat(len(x), 1, 1), [len(x), 3, 64, 64], align_corners=False)
        moved = functional.grid_sample(x, grid + self.flow(x).permute(0, 2, 3, 1) * 0.05, align_corners=False)
        return functional.conv2d(moved, self.filter(x)[:1].view(3, 1, 3, 3), padding=1, groups=3)


@net("warp", "GridSample, Conv with a computed weight", IMAGE)
def warp() -> nn.Module:
    return Warp()

"""Classifiers of torchvision and timm, made narrow."""

import timm.models
import torchvision.models as tv
from torch import nn
from torchvision.models.googlenet import Inception
from torchvision.models.regnet import BlockParams

from nets.registry import net

IMAGE = (1, 3, 64, 64)
CLASSES = 20


@net("resnet18", "ResNet, basic blocks", IMAGE)
def resnet18() -> nn.Module:
    return timm.create_model("resnet18", num_classes=CLASSES, channels=(32, 48, 64, 128))


@net("resnet18_dynamo", "ResNet, dynamo export", IMAGE, exporter="dynamo", opset=18)
def resnet18_dynamo() -> nn.Module:
    return resnet18()


@net("resnet50", "ResNet, bottlenecks, opset 11", IMAGE, opset=11)
def resnet50() -> nn.Module:
    return timm.create_model("resnet50", num_classes=CLASSES, layers=(1, 2, 2, 1), channels=(16, 24, 32, 64))


@net("resnext", "ResNeXt, grouped convolutions", IMAGE)
def resnext() -> nn.Module:
    return timm.create_model(
        "resnext50_32x4d", num_classes=CLASSES, layers=(1, 1, 2, 1), channels=(16, 32, 48, 64), cardinality=8, base_width=16
    )


@net("mobilenetv2", "inverted residuals, ReLU6", IMAGE, dynamic=True)
def mobilenetv2() -> nn.Module:
    return tv.mobilenet_v2(num_classes=CLASSES, width_mult=0.35)


@net("mobilenetv3", "hard-swish, squeeze-excite", IMAGE)
def mobilenetv3() -> nn.Module:
    return tv.mobilenet_v3_small(num_classes=CLASSES, width_mult=0.5)


@net("mobilenetv3_opset13", "hard-swish before HardSwish", IMAGE, opset=13)
def mobilenetv3_opset13() -> nn.Module:
    return mobilenetv3()


@net("mobilenetv3_dynamo", "hard-swish, dynamo export", IMAGE, exporter="dynamo", opset=18)
def mobilenetv3_dynamo() -> nn.Module:
    return mobilenetv3()


@net("efficientnet", "SiLU, squeeze-excite", IMAGE)
def efficientnet() -> nn.Module:
    blocks, _ = tv.efficientnet._efficientnet_conf("efficientnet_b0", width_mult=0.35, depth_mult=0.4)
    return tv.EfficientNet(blocks, dropout=0.0, num_classes=CLASSES, last_channel=128)


@net("efficientnet_lite", "ReLU6, no squeeze-excite", IMAGE, options=["--preprocess", "tf"])
def efficientnet_lite() -> nn.Module:
    return timm.models.efficientnet._gen_efficientnet_lite("efficientnet_lite0", 0.3, 0.6, num_classes=CLASSES)


@net("shufflenetv2", "channel shuffle", IMAGE)
def shufflenetv2() -> nn.Module:
    return tv.shufflenet_v2_x0_5(num_classes=CLASSES)


@net("densenet", "dense Concat, BN before Conv", IMAGE)
def densenet() -> nn.Module:
    return tv.DenseNet(growth_rate=12, block_config=(3, 4, 4), num_init_features=24, num_classes=CLASSES)


@net("inception", "branches of different kernels, Concat", IMAGE)
def inception() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 24, 7, 2, 3),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.LocalResponseNorm(5),
        Inception(24, 16, 16, 24, 4, 12, 8),
        Inception(60, 24, 24, 32, 8, 16, 12),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        Inception(84, 32, 24, 48, 8, 24, 24),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(128, CLASSES),
    )


@net("squeezenet", "fire modules, Conv as classifier", IMAGE)
def squeezenet() -> nn.Module:
    return tv.squeezenet1_1(num_classes=CLASSES)


@net("vgg_bn", "plain convolutions with BN, large Gemm", IMAGE)
def vgg_bn() -> nn.Module:
    features = tv.vgg.make_layers([16, "M", 32, "M", 48, 48, "M", 64, 64, "M"], batch_norm=True)
    return nn.Sequential(
        features, nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, CLASSES), nn.Softmax(1)
    )


@net("regnet", "grouped bottlenecks, squeeze-excite", IMAGE)
def regnet() -> nn.Module:
    return tv.RegNet(
        BlockParams.from_init_params(depth=6, w_0=24, w_a=16.0, w_m=2.2, group_width=8, se_ratio=0.25), num_classes=CLASSES
    )


@net("ghostnet", "cheap depthwise features, Concat", IMAGE)
def ghostnet() -> nn.Module:
    return timm.models.ghostnet._create_ghostnet("ghostnet_050", width=0.25, num_classes=CLASSES)


@net("convnext", "depthwise 7x7, LayerNorm, GELU", IMAGE)
def convnext() -> nn.Module:
    return timm.create_model("convnext_atto", num_classes=CLASSES, depths=(1, 1, 2, 1), dims=(24, 32, 64, 96))


@net("convnext_dynamo", "the same, dynamo export", IMAGE, exporter="dynamo", opset=20)
def convnext_dynamo() -> nn.Module:
    return convnext()

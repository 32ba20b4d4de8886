"""Vision transformers and mixers of timm, made narrow."""

import timm.models
from torch import nn

from nets.registry import net

IMAGE = (1, 3, 64, 64)
CLASSES = 20


@net("vit", "ViT", IMAGE, conv=False)
def vit() -> nn.Module:
    return timm.create_model(
        "vit_tiny_patch16_224", num_classes=CLASSES, img_size=64, patch_size=8, embed_dim=96, depth=3, num_heads=3
    )


@net("vit_dynamo", "ViT, dynamo export", IMAGE, conv=False, exporter="dynamo", opset=20)
def vit_dynamo() -> nn.Module:
    return vit()


@net("vit_opset23", "ViT, dynamo export, Attention as one operator", IMAGE, conv=False, exporter="dynamo", opset=23)
def vit_opset23() -> nn.Module:
    return vit()


@net("deit", "DeiT, distilled", IMAGE, conv=False)
def deit() -> nn.Module:
    settings = dict(img_size=64, patch_size=8, embed_dim=96, depth=3, num_heads=4)
    return timm.create_model("deit_tiny_distilled_patch16_224", num_classes=CLASSES, **settings)


@net("swin", "Swin, shifted windows", IMAGE, conv=False)
def swin() -> nn.Module:
    settings = dict(img_size=64, embed_dim=32, depths=(1, 2, 1), num_heads=(2, 4, 4), window_size=4)
    return timm.create_model("swin_tiny_patch4_window7_224", num_classes=CLASSES, **settings)


@net("mobilevit", "MobileViT", IMAGE, conv=False)
def mobilevit() -> nn.Module:
    return timm.create_model("mobilevit_xxs", num_classes=CLASSES)


@net("mixer", "MLP-Mixer", IMAGE, conv=False)
def mixer() -> nn.Module:
    return timm.models.MlpMixer(num_classes=CLASSES, img_size=64, patch_size=8, embed_dim=96, num_blocks=3)

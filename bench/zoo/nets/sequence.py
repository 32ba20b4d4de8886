"""Networks without images: tokens, time series, several inputs."""

import torch
from torch import Tensor, nn

from nets.registry import net

CLASSES = 20


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.leave = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            self.query_key_value(x).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        )
        weights = (q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5).softmax(-1)
        return self.leave((weights @ v).transpose(1, 2).reshape(batch, length, width))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class Encoder(nn.Module):
    def __init__(self, width: int = 96, layers: int = 3) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(EncoderLayer(width, 4) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.layers(x)).mean(1))


@net("encoder", "transformer encoder on embeddings", {"embeddings": (1, 32, 96)}, data="npz", conv=False)
def encoder() -> nn.Module:
    return Encoder()


@net("encoder_opset14", "LayerNorm and GELU in pieces", {"embeddings": (1, 32, 96)}, data="npz", conv=False, opset=14)
def encoder_opset14() -> nn.Module:
    return Encoder()


@net(
    "encoder_dynamo",
    "transformer encoder, dynamo, dynamic batch",
    {"embeddings": (1, 32, 96)},
    data="npz",
    conv=False,
    exporter="dynamo",
    opset=20,
    dynamic=True,
)
def encoder_dynamo() -> nn.Module:
    return Encoder()


class Recurrent(nn.Module):
    def __init__(self, cell: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.cell = cell(24, 48, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(96, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.cell(x)[0][:, -1])


@net("lstm", "LSTM classifier", {"series": (1, 20, 24)}, data="npz", conv=False, expect="float")
def lstm() -> nn.Module:
    return Recurrent(nn.LSTM)


@net("gru", "GRU classifier", {"series": (1, 20, 24)}, data="npz", conv=False, expect="float")
def gru() -> nn.Module:
    return Recurrent(nn.GRU)


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.picture = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
        )
        self.facts = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.head = nn.Linear(64, CLASSES)

    def forward(self, picture: Tensor, facts: Tensor) -> Tensor:
        return self.head(torch.cat([self.picture(picture).flatten(1), self.facts(facts)], 1))


@net("two_inputs", "two inputs", {"picture": (1, 3, 32, 32), "facts": (1, 10)}, data="npz")
def two_inputs() -> nn.Module:
    return TwoInputs()


@net("conv1d", "Conv over time, dynamic batch", {"signal": (1, 4, 256)}, data="npz", dynamic=True)
def conv1d() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(4, 32, 7, 2, 3),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.Conv1d(32, 48, 5, 2, 2, groups=4),
        nn.BatchNorm1d(48),
        nn.ELU(),
        nn.Conv1d(48, 64, 3, dilation=2),
        nn.LeakyReLU(0.1),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(64, CLASSES),
    )


@net("conv3d", "Conv over volumes", {"volume": (1, 1, 12, 24, 24)}, data="npz")
def conv3d() -> nn.Module:
    return nn.Sequential(
        nn.Conv3d(1, 16, 3, 2, 1),
        nn.BatchNorm3d(16),
        nn.ReLU(),
        nn.Conv3d(16, 32, 3, 1, 1),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Flatten(),
        nn.Linear(32 * 3 * 6 * 6, CLASSES),
    )


class Tokens(nn.Module):
    """Token numbers and a mask in, as BERT forms take them; the classifier's weight is the embedding's."""

    def __init__(self, words: int = 200, width: int = 96) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Parameter(torch.randn(1, 32, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        y = self.layers(self.words(tokens) + self.positions, src_key_padding_mask=mask == 0)
        return y @ self.words.weight.t()


@net(
    "tokens",
    "BERT form: int64 tokens and mask, tied embedding",
    {"tokens": (1, 32), "mask": (1, 32)},
    data="npz",
    conv=False,
    integers={"tokens": 200, "mask": 2},
)
def tokens() -> nn.Module:
    return Tokens()


class TextLine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(32, 48, 3, 2, 1),
            nn.ReLU(),
        )
        self.read = nn.LSTM(48 * 4, 48, bidirectional=True)
        self.head = nn.Linear(96, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        columns = self.look(x).flatten(1, 2).permute(2, 0, 1)
        return self.head(self.read(columns)[0]).log_softmax(2)


@net("text_line", "CRNN: convolutions, then LSTM", (1, 3, 32, 96), conv=False, options=["--preprocess", "unit"])
def text_line() -> nn.Module:
    return TextLine()

"""Writes tests/golden/numeric/: values that numpy, ONNX's reference evaluator and exact fractions give.

Run: ~/.cache/pare/venv/bin/python tools/golden/numeric.py    (numpy 2, onnx 1.23)
"""
import pathlib
from fractions import Fraction

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/numeric"
TYPES = {"u8": (0, 255, TensorProto.UINT8, np.uint8), "i8": (-128, 127, TensorProto.INT8, np.int8),
         "u16": (0, 65535, TensorProto.UINT16, np.uint16), "i16": (-32768, 32767, TensorProto.INT16, np.int16)}


def write(name, lines):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text("\n".join(lines) + "\n")


def params():
    ranges = [(0, 0), (-0.5, 254.5), (-1.5, 253.5), (-2.5, 252.5), (-128.5, 126.5), (0, 6), (-6, 0), (1, 3), (-3, -1), (-1, 1), (-0.1, 10),
              (-1e-5, 1e5), (1e-30, 2e-30), (0, 1e-42), (-1e-37, 0), (0, 3e-36), (-3e38, 3e38), (-0.2785, 5.3), (0, 1 / 3), (-7, 11.25)]
    lines = ["low high type symmetric scale zero_point"]
    for low, high in ranges:
        for name, (qmin, qmax, _, _) in TYPES.items():
            for symmetric in (0, 1):
                lo, hi = min(np.float64(low), 0.0), max(np.float64(high), 0.0)
                middle = {"u8": 128, "i8": 0, "u16": 32768, "i16": 0}[name]
                scale = np.float32(max(-lo, hi) / (qmax - middle) if symmetric else (hi - lo) / (qmax - qmin))
                if scale < np.finfo(np.float32).tiny:
                    scale, zero = np.float32(1), middle if symmetric else max(qmin, min(0, qmax))
                else:
                    zero = middle if symmetric else int(np.clip(np.rint(qmin - lo / np.float64(scale)), qmin, qmax))
                lines.append(f"{float(low).hex()} {float(high).hex()} {name} {symmetric} {float(scale).hex()} {zero}")
    write("params.txt", lines)


def round_trip_model(type_, axis=None):
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **({} if axis is None else {"axis": axis})),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **({} if axis is None else {"axis": axis}))]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, None), info("s", TensorProto.FLOAT, None), info("z", type_, None)],
                              [info("q", type_, None), info("y", TensorProto.FLOAT, None)])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))


def fake():
    lines = ["type scale zero_point x y"]
    rng = np.random.default_rng(1)
    for name, (qmin, qmax, type_, np_type) in TYPES.items():
        model = round_trip_model(type_)
        for scale, zero in [(0.5, 0), (0.1, 7), (1 / 3, qmax), (0.007, qmin), (1.0, (qmin + qmax + 1) // 2)]:
            s = np.float32(scale)
            steps = np.array([-70000, -300, -129, -128.5, -2.5, -1.5, -0.5, -0.0, 0, 0.5, 1.5, 2.5, 127.5, 128.5, 254.5, 255.5, 256, 70000])
            x = np.concatenate([steps.astype(np.float32) * s, rng.normal(0, 40, 12).astype(np.float32) * s]).astype(np.float32)
            _, y = model.run(None, {"x": x, "s": s.reshape(()), "z": np.array(zero, np_type)})
            lines += [f"{name} {float(s).hex()} {zero} {float(a).hex()} {float(b).hex()}" for a, b in zip(x, y)]
    write("fake_quantize.txt", lines)


def channels():
    """For each channel of a [2, 5, 3] tensor (axis 1): scale; then all weights and their numbers."""
    rng = np.random.default_rng(2)
    w = (rng.normal(0, 1, (2, 5, 3)) * np.array([1, 0.01, 30, 1e-6, 5]).reshape(1, 5, 1)).astype(np.float32)
    lines = ["qmax scales5 then weight q"]
    for qmax in (127, 64):
        s = (np.abs(w).max(axis=(0, 2)) / np.float32(qmax)).astype(np.float32)
        q, _ = round_trip_model(TensorProto.INT8, 1).run(None, {"x": w, "s": s, "z": np.zeros(5, np.int8)})
        lines.append(" ".join([str(qmax)] + [float(v).hex() for v in s]))
        lines += [f"{float(a).hex()} {b}" for a, b in zip(w.reshape(-1), q.reshape(-1))]
    write("channels.txt", lines)


def exact():
    rng = np.random.default_rng(3)
    groups = [[0.1] * 10, [1e18, 1, -1e18], [-1e-10], [-(2.0**-60)], [2.0**-61, -(2.0**-61)], [1e30, -1.0, np.inf, -np.inf],
              list(rng.normal(0, 1e-6, 50)), list(rng.normal(0, 1, 200) * 10.0 ** rng.integers(-12, 12, 200)), [-0.0, 0.0], [-3.75, 0.5]]
    lines = ["count sum values"]
    for group in groups:
        values = [float(np.float32(v)) for v in group]
        unit = Fraction(1, 2**60)
        total = sum(int(Fraction(max(-(2.0**60), min(2.0**60, v))) / unit) for v in values)
        lines.append(" ".join([str(len(values)), float(total * unit).hex()] + [v.hex() if np.isfinite(v) else str(v) for v in values]))
    write("exact_sum.txt", lines)


def uniforms(seed, count):
    """splitmix64, upper 24 bits; tests/numeric/golden.cpp makes the same."""
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.float64) / 2**24


def samples(name, count=20000):
    u = uniforms(7, 12 * count).reshape(count, 12)
    normal = u.sum(1) - 6
    if name == "uniform":
        x = u[:, 0] * 4 - 1
    if name == "normal":
        x = normal
    if name == "relu":
        x = np.maximum(normal, 0)
    if name == "sparse":  # nine of ten are exactly zero
        x = np.where(u[:, 0] < 0.9, 0, np.abs(normal))
    if name == "heavy":
        x = np.where(u[:, 1] < 0.5, -1, 1) * u[:, 0] / (1.0009765625 - u[:, 0])
    if name == "outlier":
        x = normal.copy()
        x[0] = 60
    if name == "skewed":
        x = np.where(normal < 0, normal / 16, normal * 2)
    return x.astype(np.float32)


def histogram(x):
    """8192 bins of the smallest power-of-two width that hold |x| < 4096 widths."""
    exponent = int(np.floor(np.log2(np.abs(x).max()))) - 11
    width = 2.0**exponent
    return np.bincount(np.floor(x.astype(np.float64) / width).astype(int) + 4096, minlength=8192), width


def divergence(bins, first, last, levels):
    bins = bins.copy()
    bins[4096] = min(bins[4096], max(bins[4095], bins[4097]))  # zero is exact whatever the threshold, so its spike has no say
    p = bins[first:last].astype(float)
    c = p.copy()
    c[0] += bins[:first].sum()
    c[-1] += bins[last:].sum()
    level = (2 * np.arange(len(p)) + 1) * levels // (2 * len(p))
    alive = c > 0
    mass = np.bincount(level[alive], p[alive], levels)
    used = np.bincount(level[alive], minlength=levels)
    q = np.maximum(mass[level[alive]] / used[level[alive]] / max(p.sum(), 1), 1e-12)
    r = c[alive] / c.sum()
    return float((r * np.log(r / q)).sum())


def best_divergence(x, levels):
    bins, width = histogram(x)
    low, high = int(np.floor(x.min() / width)), int(np.floor(x.max() / width)) + 1
    best = (np.inf, 0)
    kept = np.sort(np.abs(x))[int(np.ceil(0.9999 * len(x))) - 1]  # kEntropyKeeps of range.h
    for t in range(min(max(levels // 2, int(kept / width) + 1), max(-low, high)), 4097):
        first, last = 4096 + min(max(low, -t), 0), 4096 + max(min(high, t), 1)
        best = min(best, (divergence(bins, first, last, levels), t * width))
        if t >= max(-low, high):
            break
    return best


def error(x, low, high, levels):
    """Mean squared error of a uniform quantizer with a level at zero that spans [low, high]."""
    scale = (high - low) / (levels - 1)
    zero = np.rint(-low / scale)
    q = np.clip(np.rint(x / scale) + zero, 0, levels - 1)
    return float(np.mean(((q - zero) * scale - x) ** 2))


def best_error(x, levels):
    x = x.astype(np.float64)
    lows, highs = np.linspace(0, min(x.min(), 0), 101), np.linspace(0, max(x.max(), 0), 201)[1:]
    if x.min() >= 0:
        lows = lows[:1]
    best = (np.inf, 0, 0)
    for high in highs[::4]:
        for low in lows[::4]:
            best = min(best, (error(x, low, high, levels), low, high))
    for high in highs[np.abs(highs - best[2]) <= 4 * (highs[-1] - highs[0]) / 100]:
        for low in lows[np.abs(lows - best[1]) <= 4 * np.abs(lows[-1]) / 100]:
            best = min(best, (error(x, low, high, levels), low, high))
    return best


def ranges():
    lines = ["name minimum maximum p99 p99.9 divergence threshold l2_error l2_low l2_high"]
    for name in ["uniform", "normal", "relu", "sparse", "heavy", "outlier", "skewed"]:
        x = samples(name)
        size = np.sort(np.abs(x))
        p99, p999 = size[int(np.ceil(0.99 * len(x))) - 1], size[int(np.ceil(0.999 * len(x))) - 1]
        kl, threshold = best_divergence(x, 256)
        mse, low, high = best_error(x, 256)
        row = [x.min(), x.max(), p99, p999, kl, threshold, mse, low, high]
        lines.append(" ".join([name] + [float(v).hex() for v in row]))
        print(name, [float(f"{v:.6g}") for v in row])
    write("ranges.txt", lines)


if __name__ == "__main__":
    params(), fake(), channels(), exact(), ranges()

#!/usr/bin/env python3
"""Writes tests/golden/verify/heads.txt: each layout of a detection head decoded by numpy, in double precision and without pare's code.

  ~/.cache/pare/venv/bin/python tools/golden/heads.py

The formulas are those of the papers and repositories that src/verify/head.h names. A scene is the outputs of a model for an input of
64 x 32 pixels, and what is to be found. Scores and overlaps keep away from each other and from the thresholds, so that single and
double precision agree on every choice.
"""
import os
from importlib.metadata import version
import numpy as np

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "verify", "heads.txt")
HEIGHT, WIDTH, CONF, IOU = 32, 64, .25, .7
RATIO, LEFT, TOP, IMAGE = .5, 2, 3, (120, 52)  # input = image * ratio + offset


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def corners(xywh):
    return np.concatenate([xywh[:, :2] - xywh[:, 2:] / 2, xywh[:, :2] + xywh[:, 2:] / 2], 1)


def grid(strides):
    """x, y and stride of each cell, row by row."""
    return np.array([(x, y, s) for s in strides for y in range(-(-HEIGHT // s)) for x in range(-(-WIDTH // s))], np.float64)


def overlap(a, b):
    w, h = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    both = max(w, 0) * max(h, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


class Unclear(Exception):
    """Rounding could decide."""


def choose(boxes, pairs, suppress):
    """pairs: (score, box, class); the kept ones, best first, in pixels of the image."""
    if any(abs(s - CONF) < 1e-4 for s, _, _ in pairs):
        raise Unclear
    pairs = sorted((p for p in pairs if p[0] > CONF), reverse=True)
    if len(pairs) < 4 or any(a[0] - b[0] < 1e-5 for a, b in zip(pairs, pairs[1:])):
        raise Unclear
    kept = []
    for s, n, c in pairs:
        ious = [overlap(boxes[n], boxes[m]) for _, m, d in kept if d == c] if suppress else []
        if any(abs(i - IOU) < 1e-3 for i in ious):
            raise Unclear
        if not any(i > IOU for i in ious):
            kept.append((s, n, c))
    if suppress and len(kept) == len(pairs):
        raise Unclear  # a scene without suppression shows less
    found = []
    for s, n, c in kept:
        x1, y1, x2, y2 = boxes[n]
        box = [(x1 - LEFT) / RATIO, (y1 - TOP) / RATIO, (x2 - LEFT) / RATIO, (y2 - TOP) / RATIO]
        found.append([*np.clip(box, 0, [IMAGE[0], IMAGE[1], IMAGE[0], IMAGE[1]]), s, c])
    return found


def every(scores):
    return [(float(scores[n, c]), n, c) for n, c in np.ndindex(*scores.shape)]


def place(rng, n, spread=1.0):
    """n boxes in pixels, two or three around each of a few centres."""
    centres = rng.uniform([8, 8], [WIDTH - 8, HEIGHT - 8], (max(2, n // 6), 2))
    sizes = rng.uniform(8, 20, centres.shape)
    k = rng.integers(len(centres), size=n)
    return np.concatenate([centres[k] + rng.normal(0, spread, (n, 2)), sizes[k] * rng.uniform(.9, 1.1, (n, 2))], 1).round(2)


def sparse(rng, shape, share=.15):
    return np.where(rng.random(shape) < share, rng.uniform(.3, .99, shape), rng.uniform(0, .2, shape)).round(4)


UNIT = np.array([WIDTH, HEIGHT, WIDTH, HEIGHT])


def dense(rng, axis, first, count, unit=False, extra=0, classes=3):
    """xywh [objectness] scores [more], decoded in the model."""
    xywh, scores = place(rng, count), sparse(rng, (count, classes))
    numbers = [(xywh / UNIT).round(5) if unit else xywh]
    if unit:
        xywh = numbers[0] * UNIT
    objectness = np.ones((count, 1))
    if first == 5:
        objectness = rng.uniform(.6, 1, (count, 1)).round(3)
        numbers.append(objectness)
    numbers += [scores, rng.normal(0, 50, (count, extra)).round(1)]
    out = np.concatenate(numbers, 1)[None]
    return out if axis == 2 else out.transpose(0, 2, 1), choose(corners(xywh), every(objectness * scores), True)


def yolov8(rng, axis=1, **more):
    out, found = dense(rng, axis, 4, 42, **more)
    return [("output0", out)], found


def yolov8_masks(rng):
    out, found = dense(rng, 1, 4, 42, extra=32)
    return [("output0", out), ("output1", np.zeros((1, 32, 2, 4)))], found


def yolov5(rng, **more):
    out, found = dense(rng, 2, 5, 126, **more)
    return [("output", out)], found


ANCHORS = {8: [(10, 13), (16, 30), (33, 23)], 16: [(30, 61), (62, 45), (59, 119)], 32: [(116, 90), (156, 198), (373, 326)]}


def yolov5_levels(rng, channels_first, classes=3):
    outputs, boxes, scores = [], [], []
    for s in (8, 16, 32):
        h, w = HEIGHT // s, WIDTH // s
        raw = rng.normal(0, .4, (3, h, w, 5 + classes)).round(2)
        raw[..., 2:4] = rng.normal(-.6, .2, raw[..., 2:4].shape).round(2)
        raw[..., 4] = rng.normal(1.5, .5, raw[..., 4].shape).round(2)
        raw[..., 5:] = np.where(rng.random(raw[..., 5:].shape) < .15, rng.uniform(0, 4, raw[..., 5:].shape), -4).round(3)
        y = sigmoid(raw)
        for a, i, j in np.ndindex(3, h, w):
            t = y[a, i, j]
            boxes.append([(2 * t[0] - .5 + j) * s, (2 * t[1] - .5 + i) * s, (2 * t[2]) ** 2 * ANCHORS[s][a][0], (2 * t[3]) ** 2 * ANCHORS[s][a][1]])
            scores.append(t[4] * t[5:])
        shaped = raw.transpose(0, 3, 1, 2).reshape(1, 3 * (5 + classes), h, w) if channels_first else raw[None]
        outputs.append((f"level{s}", shaped))
    return outputs[::-1], choose(corners(np.array(boxes)), every(np.array(scores)), True)


def end_to_end(rng, unit, extra=0):
    xywh = place(rng, 12)
    box, score, cls = corners(xywh).round(2), rng.uniform(.05, .99, 12).round(4), rng.integers(0, 3, 12)
    if unit:
        box = (box / UNIT).round(5)
    out = np.concatenate([box, score[:, None], cls[:, None], rng.normal(0, 9, (12, extra)).round(1)], 1)[None]
    return [("output0", out)], choose(box * UNIT if unit else box, [(score[n], n, cls[n]) for n in range(12)], False)


def yolox(rng, decoded):
    g = grid((8, 16, 32))
    if decoded:
        out, found = dense(rng, 2, 5, len(g))
        return [("output", out)], found
    raw = np.concatenate([rng.normal(.3, .3, (len(g), 2)), rng.normal(.6, .25, (len(g), 2))], 1).round(3)
    xywh = np.concatenate([(raw[:, :2] + g[:, :2]) * g[:, 2:], np.exp(raw[:, 2:]) * g[:, 2:]], 1)
    objectness, scores = rng.uniform(.6, 1, (len(g), 1)).round(3), sparse(rng, (len(g), 3), .5)
    return [("output", np.concatenate([raw, objectness, scores], 1)[None])], choose(corners(xywh), every(objectness * scores), True)


def nanodet(rng, strides, bins):
    g = grid(strides)
    scores, logits = sparse(rng, (len(g), 3), .5), rng.normal(0, 1.5, (len(g), 4, bins)).round(2)
    away = (softmax(logits) * np.arange(bins)).sum(-1) * g[:, 2:]
    point = (g[:, :2] + (.5 if len(strides) == 3 else 0)) * g[:, 2:]
    boxes = np.concatenate([point - away[:, :2], point + away[:, 2:]], 1)
    return [("output", np.concatenate([scores, logits.reshape(len(g), -1)], 1)[None])], choose(boxes, every(scores), True)


def ssd(rng):
    box = (corners(place(rng, 30)) / UNIT).round(5)
    prob = softmax(rng.normal(0, 2.5, (30, 4))).round(5)
    return [("scores", prob[None]), ("boxes", box[None])], choose(box * UNIT, every(prob[:, 1:]), True)


def tensorflow(rng):
    box, score, cls = (corners(place(rng, 10)) / UNIT).round(5), rng.uniform(.3, .99, 10).round(4), rng.integers(1, 4, 10)
    found = choose(box * UNIT, [(score[n], n, cls[n] - 1) for n in range(8)], False)
    return [("detection_boxes", box[None][..., [1, 0, 3, 2]]), ("detection_classes", cls[None].astype(float)),
            ("detection_scores", score[None]), ("num_detections", np.array([8.]))], found


def torchvision(rng):
    box, score, cls = corners(place(rng, 9)).round(2), rng.uniform(.05, .99, 9).round(4), rng.integers(1, 4, 9)
    return [("boxes", box), ("labels", cls), ("scores", score)], choose(box, [(score[n], n, cls[n] - 1) for n in range(9)], False)


def detr(rng, none):
    unit = (place(rng, 20) / UNIT).round(5)
    logits = rng.normal(-.5, 2, (20, 3 + none)).round(3)
    if none:
        prob = softmax(logits)[:, :3]
        pairs = [(float(prob[n].max()), n, int(prob[n].argmax())) for n in range(20)]
    else:
        pairs = every(sigmoid(logits))
    return [("logits", logits[None]), ("pred_boxes", unit[None])], choose(corners(unit * UNIT), pairs, False)


def queries(rng):
    unit, prob = (place(rng, 20) / UNIT).round(5), sparse(rng, (20, 3))
    return [("output0", np.concatenate([unit, prob], 1)[None])], choose(corners(unit * UNIT), every(prob), False)


# name, --head, classes that the metadata tells (-1: none), keypoint numbers, found without --head, scene
SCENES = [
    ("yolov8", "yolov8", -1, 0, 1, yolov8),
    ("yolov8_unit", "yolov8", 3, 0, 1, lambda r: yolov8(r, unit=True)),
    ("yolov8_transposed", "yolov8", 3, 0, 0, lambda r: yolov8(r, axis=2)),
    ("yolov8_masks", "yolov8", 3, 0, 1, yolov8_masks),
    ("yolov8_pose", "yolov8", 3, 15, 1, lambda r: yolov8(r, extra=15)),
    ("yolov5", "yolov5", -1, 0, 0, yolov5),
    ("yolov5_unit", "yolov5", 3, 0, 1, lambda r: yolov5(r, unit=True)),
    ("yolov5_levels", "yolov5", 3, 0, 0, lambda r: yolov5_levels(r, False)),
    ("yolov5_levels_channels_first", "yolov5", -1, 0, 0, lambda r: yolov5_levels(r, True)),
    ("yolov10", "yolov10", 3, 0, 1, lambda r: end_to_end(r, False)),
    ("yolov10_unit", "yolov10", -1, 0, 0, lambda r: end_to_end(r, True)),
    ("yolov10_pose", "yolov10", 3, 15, 1, lambda r: end_to_end(r, False, 15)),
    ("yolox", "yolox", 3, 0, 0, lambda r: yolox(r, False)),
    ("yolox_decoded", "yolox-decoded", 3, 0, 0, lambda r: yolox(r, True)),
    ("nanodet", "nanodet", -1, 0, 0, lambda r: nanodet(r, (8, 16, 32), 8)),
    ("nanodet_plus", "nanodet", 3, 0, 1, lambda r: nanodet(r, (8, 16, 32, 64), 6)),
    ("ssd", "ssd", -1, 0, 0, ssd),
    ("ssd_tensorflow", "ssd", -1, 0, 1, tensorflow),
    ("ssd_torchvision", "ssd", -1, 0, 1, torchvision),
    ("detr", "detr", 3, 0, 1, lambda r: detr(r, True)),
    ("detr_sigmoid", "detr", 3, 0, 1, lambda r: detr(r, False)),
    ("detr_one_output", "detr", 3, 0, 1, queries),
    ("rtdetr", "rtdetr", -1, 0, 0, lambda r: detr(r, False)),
]


def number(v):
    text = np.format_float_positional(np.float32(v), trim="-")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def main():
    lines = [f"# tools/golden/heads.py: numpy {version('numpy')}"]
    for index, (name, head, classes, keypoints, alone, make) in enumerate(SCENES):
        for seed in range(10000):
            try:
                outputs, found = make(np.random.default_rng((index, seed)))
                break
            except Unclear:
                pass
        else:
            raise SystemExit(f"no clear scene for {name}")
        lines.append(f"scene {name} {head} {classes} {keypoints} {alone} {len(outputs)} {len(found)}")
        for output, values in outputs:
            kind = "i64" if values.dtype.kind == "i" else "f32"
            lines.append(f"{output} {kind} {values.ndim} " + " ".join(map(str, values.shape)))
            lines.append(" ".join(number(v) for v in values.ravel()))
        lines += [" ".join(f"{v:.6g}" for v in row[:5]) + f" {row[5]}" for row in found]
    with open(OUT, "w") as f:
        f.write("\n".join(lines) + "\n")


main()

#!/usr/bin/env python3
"""Writes tests/golden/verify from references that share no code with pare: judge.py, pycocotools, OpenCV, numpy, ONNX Runtime.

  ~/.cache/pare/venv/bin/python tools/golden/verify.py JUDGE_FOLDER

JUDGE_FOLDER holds judge.py. Every file is text; lines that begin with # say what made it.
"""
import contextlib, io, json, os, sys, tempfile
from importlib.metadata import version
import numpy as np

sys.path.insert(0, sys.argv[1])
import judge  # noqa: E402

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "verify")
PACKAGES = ["numpy", "opencv-python-headless", "pycocotools", "onnxruntime"]
quick_argsort = np.argsort


def stable_argsort(a, **kwargs):
    """judge.py leaves the order of equal scores to numpy; the golden files fix it."""
    return quick_argsort(a, **{**kwargs, "kind": "stable"})


def number(v):
    text = np.format_float_positional(np.float32(v), trim="-")
    return text[1:] if text.startswith("0.") else text


def write(name, lines):
    with open(os.path.join(OUT, name), "w") as f:
        f.write("# tools/golden/verify.py: " + ", ".join(f"{p} {version(p)}" for p in PACKAGES) + "\n")
        f.write("\n".join(lines) + "\n")


def head(rng, size, classes, objects, spread, digits=3):
    """A YOLOv8 output: each candidate near an object predicts it with noise, the others predict nothing."""
    cells = np.concatenate([np.stack(np.meshgrid(np.arange(size // s), np.arange(size // s)), -1).reshape(-1, 2) * s + s / 2 for s in (8, 16, 32)])
    out = np.zeros((4 + classes, len(cells)))
    out[:2] = cells.T + rng.normal(0, 2, cells.T.shape)
    out[2:4] = rng.uniform(8, 24, cells.T.shape)
    out[4:] = np.where(rng.random(out[4:].shape) < .05, 10.0 ** rng.uniform(-5, -1.5, out[4:].shape), 0)
    for _ in range(objects):
        centre, extent, c = rng.uniform(0, size, 2), rng.uniform(12, 60, 2), rng.integers(classes)
        near = np.flatnonzero(np.abs(cells - centre).max(1) < 20)
        out[:2, near] = centre[:, None] + rng.normal(0, spread, (2, len(near)))
        out[2:4, near] = extent[:, None] + rng.normal(0, 2 * spread, (2, len(near)))
        out[4 + c, near] = rng.uniform(.05, .95, len(near))
        out[4 + (c + 1) % classes, near] = rng.uniform(0, .3, len(near))
    out[:4] = out[:4].round(2)
    out[4:] = out[4:].round(digits)
    return out.astype(np.float32)[None]


def decoded(name, out, geometry, conf):
    r, left, top, (h, w) = geometry
    x, s, c = judge.detections(out, r, left, top, (h, w, 3), conf=conf)
    rows, n = out.shape[1:]
    lines = [f"scene {name} {rows - 4} {n} {number(conf)} {r!r} {left} {top} {w} {h} {len(s)}"]
    lines += [" ".join(number(v) for v in row) for row in out[0]]
    return lines + [" ".join(number(v) for v in (*x[k], s[k])) + f" {c[k]}" for k in range(len(s))]


def write_detections():
    rng = np.random.default_rng(1)
    lines = decoded("street", head(rng, 128, 6, 12, 1.5, 5), (128 / 301, 0, 21, (201, 301)), .001)
    lines += decoded("portrait_above_a_quarter", head(rng, 128, 3, 8, 3, 4), (128 / 333, 14, 0, (333, 257)), .25)
    lines += decoded("equal_scores", head(rng, 64, 4, 6, 1, 1), (.5, 0, 0, (128, 128)), .001)
    crowd = head(rng, 128, 3, 0, 1)
    crowd[0, 4:] = rng.uniform(.002, 1, crowd[0, 4:].shape).round(4)
    lines += decoded("more_than_kept", crowd, (1.0, 0, 0, (128, 128)), .001)
    flat = head(rng, 64, 2, 6, 2)
    flat[0, 2, ::3], flat[0, 3, ::4], flat[0, 2, ::5] = 0, 0, -7
    flat[0, 4:] = rng.uniform(0, 1, flat[0, 4:].shape).round(4)
    lines += decoded("boxes_without_area", flat, (.5, 0, 0, (128, 128)), .001)
    write("detections.txt", lines)


def write_agreement():
    """judge.agree itself, its sessions and files replaced by stored outputs."""
    rng = np.random.default_rng(2)
    images, lines = 14, []
    pairs = []
    for n in range(images):
        a = head(rng, 128, 4, [0, 1, 5, 9, 14][n % 5], 1.5)
        b = a.copy()
        b[:, :4] += rng.normal(0, 2.5, b[:, :4].shape).astype(np.float32)
        b[:, 4:] = (b[:, 4:] * rng.uniform(.6, 1.2, b[:, 4:].shape)).round(3)
        pairs.append((a, b if n % 6 else a))
    current = []

    class Session:
        def __init__(self, which):
            self.which, self.calls = which, 0

        def get_inputs(self):
            return [type("Input", (), {"name": "x"})]

        def run(self, names, feeds):
            self.calls += 1
            return [current[self.calls - 1][self.which]]

    judge.session = lambda path, threads: Session(path)
    judge.letterbox = lambda im, size: (im, .5, 3, 0)
    import cv2
    cv2.imread = lambda name: np.zeros((250, 256, 3), np.uint8)

    def agree(chosen):
        current[:] = chosen
        judge.glob.glob = lambda pattern: [f"{k:03}" for k in range(len(chosen))] if "coco128" in pattern else []
        with contextlib.redirect_stdout(io.StringIO()):
            return judge.agree([0, 1], 1)[1]

    for a, b in pairs:
        found = [judge.detections(o, .5, 3, 0, (250, 256, 3), conf=.25) for o in (a, b)]
        lines.append(f"image {len(found[0][1])} {len(found[1][1])} {agree([(a, b)])['f1']!r}")
        lines += [" ".join(number(v) for v in (*x[k], s[k])) + f" {c[k]}" for x, s, c in found for k in range(len(s))]
    total = agree(pairs)
    write("agreement.txt", [f"total {images} {total['f1']!r} {total['low']!r} {total['high']!r}"] + lines)


def coco(labels, found, images):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    gt = COCO()
    anns = [dict(id=k + 1, image_id=int(i), category_id=int(c), bbox=[float(v) for v in b], area=float(b[2] * b[3]), iscrowd=0) for k, (i, c, *b) in enumerate(labels)]
    classes = sorted({int(g[1]) for g in labels} | {int(d[1]) for d in found})
    gt.dataset = dict(images=[dict(id=i) for i in range(images)], annotations=anns, categories=[dict(id=c) for c in classes])
    with contextlib.redirect_stdout(io.StringIO()):
        gt.createIndex()
        res = [dict(image_id=int(i), category_id=int(c), bbox=[float(v) for v in b], score=float(s)) for i, c, *b, s in found]
        e = COCOeval(gt, gt.loadRes(res), "bbox")
        e.evaluate(), e.accumulate(), e.summarize()
    p = e.eval["precision"][:, :, :, 0, 2]
    per_class = [(c, p[:, :, k].mean(), p[0, :, k].mean()) for k, c in enumerate(classes) if (p[:, :, k] > -1).all()]
    return e.stats[0], e.stats[1], per_class


def scene(rng, images, classes, boxes, extra, step, levels, spread):
    """Labels on a grid of `step` pixels; detections of most of them, moved by `spread`, and `extra` wrong ones per image; scores on
    `levels` steps, so that few levels mean many ties."""
    labels, found = [], []

    def place(box):
        x, y, w, h = np.round(np.array(box) / step) * step
        return [float(x), float(y), float(max(w, step)), float(max(h, step))]

    def score(low, high):
        return round(float(np.ceil(rng.uniform(low, high) * levels) / levels), 5)

    for i in range(images):
        for _ in range(boxes(i)):
            c = int(rng.integers(classes))
            b = [*rng.uniform(0, 400, 2), *rng.uniform(10, 150, 2)]
            labels.append((i, c, *place(b)))
            for _ in range(int(rng.integers(0, 4))):
                moved = np.array(b) + rng.normal(0, spread, 4)
                found.append((i, c if rng.random() < .9 else classes, *place(moved), score(.2, 1)))
        for _ in range(extra(i)):
            found.append((i, int(rng.integers(classes + 1)), *place([*rng.uniform(0, 400, 2), *rng.uniform(10, 150, 2)]), score(0, .8)))
    return labels, found


def write_map():
    rng, lines = np.random.default_rng(3), []
    cases = {
        "street": (30, 6, lambda i: int(rng.integers(0, 6)), lambda i: int(rng.integers(0, 8)), .25, 1e4, 5),
        "equal_scores": (12, 3, lambda i: 4, lambda i: 4, 8, 5, 8),
        "more_than_a_hundred": (3, 1, lambda i: 60, lambda i: 150, 1, 500, 4),
        "empty_images": (20, 4, lambda i: 3 if i % 4 == 0 else 0, lambda i: 3 if i % 3 == 0 else 0, .5, 1e3, 6),
        "one_box": (1, 1, lambda i: 1, lambda i: 3, 1, 100, 2),
    }
    for name, (images, *rest) in cases.items():
        labels, found = scene(rng, images, *rest)
        if name == "empty_images":
            labels.append((1, 9, 5., 5., 20., 20.))  # a class that nothing detects
        m, m50, per_class = coco(labels, found, images)
        lines.append(f"scene {name} {images} {len(labels)} {len(found)} {len(per_class)} {float(m)!r} {float(m50)!r}")
        lines += [" ".join(number(v) for v in row) for row in labels + found]
        lines += [f"{c} {float(a)!r} {float(a50)!r}" for c, a, a50 in per_class]
    write("coco_map.txt", lines)


def write_signal():
    rng, lines = np.random.default_rng(4), []
    a = rng.normal(0, [[[3.], [1.], [.1]]], (2, 2, 3, 4)).round(3).astype(np.float32)
    b = (a + rng.normal(0, .05, a.shape)).round(3).astype(np.float32)
    x, y = a.astype(np.float64), b.astype(np.float64)

    def figures(r, t):
        return [10 * np.log10((r ** 2).sum() / ((t - r) ** 2).sum()), np.abs(t - r).max(), (t - r).mean()]

    lines += [" ".join(number(v) for v in t.ravel()) for s in range(2) for t in (a[s], b[s])]
    worst = int(np.abs(y - x).argmax())
    lines.append(" ".join(repr(float(v)) for v in figures(x, y)) + f" {worst // 24} {worst % 24}")
    lines += [" ".join(repr(float(v)) for v in figures(x[:, :, c], y[:, :, c])) for c in range(3)]
    write("signal.txt", lines)


def write_profile():
    """Conv -> Relu -> Conv -> MatMul, ten runs; judge.kernels counts them. The first Conv stays float: a zero point of 128 keeps its Relu."""
    import onnx
    from onnx import TensorProto as T, helper as h, numpy_helper
    rng = np.random.default_rng(5)
    init = {"s": np.float32(.02), "z": np.uint8(128), "ws": np.float32(.01), "wz": np.int8(0),
            "w1": rng.integers(-99, 99, (8, 3, 3, 3)).astype(np.int8), "w2": rng.integers(-99, 99, (8, 8, 3, 3)).astype(np.int8),
            "m": rng.normal(0, 1, (16, 5)).astype(np.float32)}

    def q(x, y):
        return h.make_node("QuantizeLinear", [x, "s", "z"], [y])

    def dq(x, y, scale="s", zero="z"):
        return h.make_node("DequantizeLinear", [x, scale, zero], [y])

    def conv(x, w, y):
        return h.make_node("Conv", [x, w], [y], pads=[1, 1, 1, 1])

    nodes = [q("x", "xq"), dq("xq", "xd"), dq("w1", "w1d", "ws", "wz"), conv("xd", "w1d", "c1"), h.make_node("Relu", ["c1"], ["r1"]),
             q("r1", "rq"), dq("rq", "rd"), dq("w2", "w2d", "ws", "wz"), conv("rd", "w2d", "c2"), q("c2", "cq"), dq("cq", "cd"),
             h.make_node("MatMul", ["cd", "m"], ["y"])]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [1, 3, 16, 16])], [h.make_tensor_value_info("y", T.FLOAT, None)],
                         [numpy_helper.from_array(np.asarray(v), k) for k, v in init.items()])
    events = []
    load = json.load
    judge.json.load = lambda f: events.append(load(f)) or events[-1]
    with tempfile.TemporaryDirectory() as d, contextlib.redirect_stdout(io.StringIO()):
        path = os.path.join(d, "m.onnx")
        onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
        row = judge.kernels([path], 1)[0]
    kept = [{**{k: e[k] for k in ("cat", "name", "dur", "ts")}, "args": {k: v for k, v in e["args"].items() if k in ("op_name", "provider", "node_index")}} for e in events[0]]
    with open(os.path.join(OUT, "profile.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(e, separators=(",", ":")) for e in kept) + "\n]\n")
    write("profile.txt", [f"{row['integer']} {row['float']}"] + [f"{op} {n} {ms}" for op, (n, ms) in row["ops"].items()])


np.argsort = stable_argsort
os.makedirs(OUT, exist_ok=True)
write_profile()
write_detections()
write_map()
write_signal()
write_agreement()

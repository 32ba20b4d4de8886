#!/usr/bin/env python3
"""train.py SCENES.npz OUT [--minutes M]: trains the demo detector on a CPU core for M minutes and writes OUT.pt and OUT.onnx.

Runs under Debian's own Python with Debian's PyTorch, which pip's would outweigh by gigabytes:
    apt-get install --no-install-recommends python3-torch python3-numpy libopenblas0-pthread
    /usr/bin/python3 tools/demo/train.py ...
"""
import argparse
import copy
import math
import time

import numpy as np
import torch
import torch.nn.functional as F

from network import BINS, Detector

CLASSES = 5
TOP = 10                      # anchors that one object may take
ALIGN = (0.5, 6.0)            # exponents of score and IoU in the alignment (Feng et al. 2021, TOOD)
GAINS = dict(box=7.5, score=0.5, bins=1.5)
BATCH, RATE, DECAY, WARMUP = 16, 2e-3, 0.02, 250
REPORT = 100


def batch_of(images, rows_of, picks, rng):
    """Images as floats and padded targets (class, left, top, right, bottom; class -1 = none), under one of the eight
    symmetries of the square and one order of the colour channels per batch."""
    x = torch.from_numpy(images[picks][:, :, :, rng.permutation(3)]).permute(0, 3, 1, 2).float() / 255
    size = x.shape[2]
    most = max(1, max(len(rows_of[i]) for i in picks))
    targets = torch.full((len(picks), most, 5), -1.0)
    for n, i in enumerate(picks):
        targets[n, :len(rows_of[i])] = torch.from_numpy(rows_of[i])
    boxes = targets[..., 1:]
    flip_x, flip_y, swap = rng.integers(0, 2, 3)
    if flip_x:
        x, boxes = x.flip(3), torch.stack((size - boxes[..., 2], boxes[..., 1], size - boxes[..., 0], boxes[..., 3]), -1)
    if flip_y:
        x, boxes = x.flip(2), torch.stack((boxes[..., 0], size - boxes[..., 3], boxes[..., 2], size - boxes[..., 1]), -1)
    if swap:
        x, boxes = x.transpose(2, 3), boxes[..., [1, 0, 3, 2]]
    return x.contiguous(memory_format=torch.channels_last), targets[..., 0].long(), boxes


def overlap(a, b, complete=False):
    """IoU of boxes (..., 4) given by corners; with `complete` less the distance and aspect terms (Zheng et al. 2020, CIoU)."""
    wa, ha = a[..., 2] - a[..., 0], a[..., 3] - a[..., 1]
    wb, hb = b[..., 2] - b[..., 0], b[..., 3] - b[..., 1]
    w = (torch.minimum(a[..., 2], b[..., 2]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    h = (torch.minimum(a[..., 3], b[..., 3]) - torch.maximum(a[..., 1], b[..., 1])).clamp(min=0)
    iou = w * h / (wa * ha + wb * hb - w * h + 1e-7)
    if not complete:
        return iou
    cw = torch.maximum(a[..., 2], b[..., 2]) - torch.minimum(a[..., 0], b[..., 0])
    ch = torch.maximum(a[..., 3], b[..., 3]) - torch.minimum(a[..., 1], b[..., 1])
    dx = (a[..., 0] + a[..., 2] - b[..., 0] - b[..., 2]) / 2
    dy = (a[..., 1] + a[..., 3] - b[..., 1] - b[..., 3]) / 2
    aspect = 4 / math.pi ** 2 * (torch.atan(wb / (hb + 1e-7)) - torch.atan(wa / (ha + 1e-7))) ** 2
    with torch.no_grad():
        weight = aspect / (1 - iou + aspect + 1e-7)
    return iou - (dx ** 2 + dy ** 2) / (cw ** 2 + ch ** 2 + 1e-7) - weight * aspect


@torch.no_grad()
def assign(scores, boxes, points, classes, truth):
    """Task-aligned assignment. scores: batch x anchors x classes; boxes, truth: corners in pixels; points: anchors x 2.
    Returns per anchor: the index of its object (-1: none) and the score to aim at."""
    valid = classes >= 0                                                          # batch x objects
    half = ((truth[..., 2:] - truth[..., :2]) / 2).clamp(min=4.01)                # a tiny box still reaches one anchor
    offset = (points[None, None] - ((truth[..., :2] + truth[..., 2:]) / 2)[:, :, None]).abs()
    inside = (offset < half[:, :, None]).all(-1) & valid[..., None]               # batch x objects x anchors
    iou = overlap(truth[:, :, None], boxes[:, None]).clamp(min=0) * inside
    own = scores.transpose(1, 2).gather(1, classes.clamp(min=0)[..., None].expand(-1, -1, scores.shape[1]))
    align = own ** ALIGN[0] * iou ** ALIGN[1]
    best = align.topk(TOP, 2)
    chosen = torch.zeros_like(inside).scatter_(2, best.indices, best.values > 0)
    # An anchor that two objects want goes to the one it overlaps most.
    winner = (iou * chosen).argmax(1, keepdim=True)
    chosen &= torch.zeros_like(chosen).scatter_(1, winner, True)
    align, iou = align * chosen, iou * chosen
    target = align / (align.amax(2, keepdim=True) + 1e-9) * iou.amax(2, keepdim=True)
    owner = torch.where(chosen.any(1), chosen.float().argmax(1), torch.full_like(winner[:, 0], -1))
    return owner, target.amax(1)


def loss_of(model, raw, classes, truth):
    raw_boxes, raw_scores = raw.split((4 * BINS, CLASSES), 1)
    logits = raw_scores.transpose(1, 2)
    points, strides = model.points.t(), model.strides.t()
    sides = model.sides(raw_boxes).transpose(1, 2)
    boxes = torch.cat((points - sides[..., :2], points + sides[..., 2:]), -1)      # in strides
    owner, aim = assign(logits.detach().sigmoid(), boxes.detach() * strides, points * strides, classes, truth)
    total = aim.sum().clamp(min=1)
    image, anchor = (owner >= 0).nonzero(as_tuple=True)
    thing = owner[image, anchor]
    wanted = torch.zeros_like(logits)
    wanted[image, anchor, classes[image, thing]] = aim[image, anchor]
    score = F.binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / total
    weight = aim[image, anchor]
    goal = truth[image, thing] / strides[anchor]
    box = ((1 - overlap(boxes[image, anchor], goal, complete=True)) * weight).sum() / total
    # Distribution focal loss (Li et al. 2020): cross entropy with the two bins next to the wanted distance.
    at = points[anchor]
    distance = torch.cat((at - goal[:, :2], goal[:, 2:] - at), 1).clamp(0, BINS - 1.01)
    low = distance.floor()
    logs = raw_boxes.transpose(1, 2)[image, anchor].view(-1, 4, BINS).log_softmax(2)
    pick = lambda bins: logs.gather(2, bins.long()[..., None])[..., 0]
    bins = -((low + 1 - distance) * pick(low) + (distance - low) * pick(low + 1)).mean(1)
    parts = dict(box=box, score=score, bins=(bins * weight).sum() / total)
    return sum(GAINS[k] * v for k, v in parts.items()), parts


def export(model, path):
    """Batch 1, opset 17, with the BatchNormalization nodes kept."""
    model.eval()
    torch.onnx.export(model, torch.zeros(1, 3, model.size, model.size), path, input_names=["images"], output_names=["output0"],
                      opset_version=17, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes")
    parser.add_argument("out")
    parser.add_argument("--minutes", type=float, default=23)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    data = np.load(options.scenes)
    images, labels = data["images"], data["labels"]
    rows_of = [[] for _ in images]
    for row in labels:
        rows_of[int(row[0])].append(row[1:])
    rows_of = [np.array(rows, np.float32).reshape(-1, 5) for rows in rows_of]

    model = Detector(CLASSES, images.shape[1]).to(memory_format=torch.channels_last).train()
    average = copy.deepcopy(model)
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.ndim == 1]
    optimizer = torch.optim.AdamW([dict(params=matrices, weight_decay=DECAY), dict(params=vectors, weight_decay=0)], lr=RATE)
    start, step, done, sums = time.time(), 0, 0.0, {}
    while done < 1:
        at = step * BATCH % (len(images) // BATCH * BATCH)
        if at == 0:
            order = rng.permutation(len(images))
        done = (time.time() - start) / (60 * options.minutes)
        for group in optimizer.param_groups:  # a cosine over the time, so that a busy machine still ends with a small rate
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * (0.01 + 0.99 * (1 + math.cos(math.pi * min(done, 1))) / 2)
        x, classes, truth = batch_of(images, rows_of, order[at:at + BATCH], rng)
        loss, parts = loss_of(model, model(x), classes, truth)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        step += 1
        keep = 0.998 * (1 - math.exp(-step / 500))
        with torch.no_grad():
            for a, b in zip(average.state_dict().values(), model.state_dict().values()):
                a.copy_(torch.lerp(b, a, keep) if a.dtype.is_floating_point else b)
        for name, value in parts.items():
            sums[name] = sums.get(name, 0) + float(value.detach()) / REPORT
        if step % REPORT == 0:
            print(f"step {step}  {time.time() - start:.0f} s  " + "  ".join(f"{k} {v:.3f}" for k, v in sums.items()), flush=True)
            torch.save(average.state_dict(), options.out + ".pt")
            sums = {}
    print(f"{step} steps, {step * BATCH / len(images):.1f} epochs, {time.time() - start:.0f} s")
    export(average.to(memory_format=torch.contiguous_format), options.out + ".onnx")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""evaluate.py MODEL.onnx FOLDER: mAP and mAP50 (pycocotools) on the images of a YOLO dataset, run by ONNX Runtime."""
import contextlib
import glob
import io
import sys
import time

import cv2
import numpy as np
import onnxruntime
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from letterbox import letterbox, read_labels


def detections(output, confidence=0.001, overlap=0.7, most=300):
    """Corner boxes, scores and classes of one output after suppression per class."""
    rows = output[0].T
    anchors, classes = np.nonzero(rows[:, 4:] > confidence)
    scores, xywh = rows[anchors, 4 + classes], rows[anchors, :4]
    low = xywh[:, :2] - xywh[:, 2:] / 2
    apart = np.concatenate([low + classes[:, None] * 4096.0, xywh[:, 2:]], 1)
    kept = np.array(cv2.dnn.NMSBoxes(apart.tolist(), scores.tolist(), confidence, overlap), int).reshape(-1)[:most]
    return np.concatenate([low, low + xywh[:, 2:]], 1)[kept], scores[kept], classes[kept]


def main(model, folder):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = eval(session.get_modelmeta().custom_metadata_map["names"])
    size = session.get_inputs()[0].shape[2]
    images, truth, found, spent = [], [], [], 0.0
    for n, name in enumerate(sorted(glob.glob(f"{folder}/images/*/*.png"))):
        image = cv2.imread(name)
        height, width = image.shape[:2]
        images.append(dict(id=n, width=width, height=height))
        for c, x0, y0, x1, y1 in read_labels(name, width, height):
            truth.append(dict(id=len(truth) + 1, image_id=n, category_id=c, bbox=[x0, y0, x1 - x0, y1 - y0],
                              area=(x1 - x0) * (y1 - y0), iscrowd=0))
        boxed, ratio, left, top = letterbox(image, size)
        x = np.ascontiguousarray(boxed[:, :, ::-1].transpose(2, 0, 1)[None].astype(np.float32) / 255)
        start = time.perf_counter()
        output = session.run(None, {session.get_inputs()[0].name: x})[0]
        spent += time.perf_counter() - start
        boxes, scores, classes = detections(output)
        boxes = ((boxes - [left, top, left, top]) / ratio).clip(0, [width, height, width, height])
        for box, score, c in zip(boxes, scores, classes):
            found.append(dict(image_id=n, category_id=int(c), score=float(score),
                              bbox=[float(v) for v in (*box[:2], *(box[2:] - box[:2]))]))
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = dict(images=images, annotations=truth, categories=[dict(id=c, name=v) for c, v in names.items()])
        coco.createIndex()
        judge = COCOeval(coco, coco.loadRes(found), "bbox")
        judge.evaluate(), judge.accumulate(), judge.summarize()
    print(f"{len(images)} images, {len(truth)} objects: mAP {judge.stats[0]:.4f}  mAP50 {judge.stats[1]:.4f}  "
          f"small {judge.stats[3]:.4f}  medium {judge.stats[4]:.4f}  large {judge.stats[5]:.4f}  "
          f"{1000 * spent / len(images):.2f} ms per run")
    for c, name in names.items():
        precision = judge.eval["precision"][0, :, c, 0, 2]
        print(f"  {name:9} AP50 {precision[precision > -1].mean():.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

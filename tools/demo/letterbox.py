#!/usr/bin/env python3
"""letterbox.py FOLDER SIZE OUT.npz: the images of FOLDER/images/*/ and their labels as arrays for train.py.

images: n x SIZE x SIZE x 3 (RGB), labels: rows (image, class, left, top, right, bottom) in pixels of the letterboxed image.
"""
import glob
import sys

import cv2
import numpy as np


def letterbox(image, size):
    """Scales to fit, keeping the aspect ratio, and pads with grey 114. Returns image, ratio, left, top."""
    height, width = image.shape[:2]
    ratio = min(size / height, size / width)
    w, h = round(width * ratio), round(height * ratio)
    image = cv2.resize(image, (w, h), interpolation=cv2.INTER_LINEAR)
    top, left = round((size - h) / 2 - 0.1), round((size - w) / 2 - 0.1)
    image = cv2.copyMakeBorder(image, top, size - h - top, left, size - w - left, cv2.BORDER_CONSTANT, value=(114,) * 3)
    return image, ratio, left, top


def read_labels(image_path, width, height):
    """Rows class, left, top, right, bottom in pixels."""
    rows = []
    for line in open(image_path.replace("/images/", "/labels/").replace(".png", ".txt")):
        c, x, y, w, h = map(float, line.split())
        rows.append((int(c), (x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height))
    return rows


def main(folder, size, out):
    files = sorted(glob.glob(f"{folder}/images/*/*.png"))
    images, labels = np.zeros((len(files), size, size, 3), np.uint8), []
    for n, name in enumerate(files):
        image = cv2.imread(name)
        boxed, ratio, left, top = letterbox(image, size)
        images[n] = boxed[:, :, ::-1]
        for c, x0, y0, x1, y1 in read_labels(name, image.shape[1], image.shape[0]):
            labels.append((n, c, x0 * ratio + left, y0 * ratio + top, x1 * ratio + left, y1 * ratio + top))
    np.savez(out, images=images, labels=np.array(labels, np.float32))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])

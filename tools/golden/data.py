#!/usr/bin/env python3
"""Writes tests/golden/data: small input files, and what NumPy, Pillow and OpenCV for Python make of them.

Run with the Python of tools/setup: numpy, opencv-python-headless, pillow. ../shared/judge/judge.py and ../shared/data are read if present.
Last written with numpy 2.4.6, opencv 5.0.0, pillow 13.0.0.
"""
import importlib.util
import io
import pathlib

import cv2
import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/data"
SHARED = ROOT.parent / "shared"


def pattern(width, height):
    """The image of pattern() in tests/data/pattern.h."""
    y, x, c = np.mgrid[0:height, 0:width, 0:3]
    return ((3 * x + 2 * y + 60 * c + x * y // 97) % 256).astype(np.uint8)


def smooth(width, height):
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127 + 120 * np.sin(x / 17 + 1), 127 + 120 * np.cos(y / 9), 40 + 200 * x / width]
    return np.stack(planes, 2).astype(np.uint8)


def write_images():
    """Case 11: ten files of 100 x 40, then the other kinds that read_image takes."""
    rgb = smooth(100, 40)
    image = Image.fromarray(rgb)
    alpha = Image.fromarray((np.arange(4000) % 256).astype(np.uint8).reshape(40, 100))
    exif = Image.Exif()
    exif[0x0112] = 6
    rgba = image.copy()
    rgba.putalpha(alpha)
    grey_alpha = image.convert("L")
    grey_alpha.putalpha(alpha)

    image.save(OUT / "rgb.jpg", quality=90)
    image.convert("L").save(OUT / "grey.jpg", quality=90)
    grey_alpha.save(OUT / "grey_alpha.png")
    rgba.save(OUT / "rgba.png")
    image.quantize(64).save(OUT / "palette.png")
    image.convert("CMYK").save(OUT / "cmyk.jpg", quality=90)
    image.save(OUT / "exif6.jpg", quality=90, exif=exif)
    whole = (OUT / "rgb.jpg").read_bytes()
    (OUT / "truncated.jpg").write_bytes(whole[: len(whole) * 2 // 3])
    (OUT / "empty.jpg").write_bytes(b"")
    (OUT / "text.jpg").write_text("this is no picture\n")

    image.save(OUT / "progressive.jpg", quality=90, progressive=True)
    (OUT / "trailing.jpg").write_bytes(whole + b"bytes that a camera appends")
    thumbnail = io.BytesIO()
    image.resize((20, 8)).save(thumbnail, "jpeg")
    with_thumbnail = whole[:2] + b"\xff\xe3" + (len(thumbnail.getvalue()) + 2).to_bytes(2, "big") + thumbnail.getvalue() + whole[2:]
    (OUT / "thumbnail_truncated.jpg").write_bytes(with_thumbnail[:-2])
    image.save(OUT / "lossless.webp", lossless=True)
    image.save(OUT / "plain.bmp")
    cv2.imwrite(str(OUT / "deep.png"), rgb[:, :, ::-1].astype(np.uint16) * 256 + 77)

    lines = ["# name width height, mean of R G B, then R G B of each pixel with x % 11 == 0 and y % 7 == 0"]
    for name in ("rgb.jpg grey.jpg grey_alpha.png rgba.png palette.png cmyk.jpg exif6.jpg progressive.jpg trailing.jpg "
                 "lossless.webp plain.bmp deep.png").split():
        read = cv2.imread(str(OUT / name))[:, :, ::-1]
        if name.split(".")[1] in ("png", "bmp", "webp") and name != "deep.png":
            assert np.array_equal(read, np.asarray(Image.open(OUT / name).convert("RGB"))), name
        lines.append(f"{name} {read.shape[1]} {read.shape[0]} " + " ".join(f"{m:.4f}" for m in read.mean((0, 1))))
        lines.append(" ".join(map(str, read[::7, ::11].ravel())))
    (OUT / "pixels.txt").write_text("\n".join(lines) + "\n")


def letterbox(image, height, width):
    """Ultralytics' LetterBox for any target; judge.py's where the target is square."""
    h, w = image.shape[:2]
    r = min(height / h, width / w)
    nw, nh = round(w * r), round(h * r)
    inner = cv2.resize(image, (nw, nh), interpolation=cv2.INTER_LINEAR) if (nw, nh) != (w, h) else image
    left, top = round((width - nw) / 2 - 0.1), round((height - nh) / 2 - 0.1)
    out = np.full((height, width, 3), 114, np.uint8)
    out[top : top + nh, left : left + nw] = inner
    return out, (r, r, left, top)


def stretch(image, height, width):
    h, w = image.shape[:2]
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR), (width / w, height / h, 0, 0)


def crop(image, height, width):
    h, w = image.shape[:2]
    side, now = 256 * min(height, width) // 224, min(h, w)
    if side != now:
        image = cv2.resize(image, (w * side // now, h * side // now), interpolation=cv2.INTER_AREA if side < now else cv2.INTER_LINEAR)
    top, left = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
    return image[top : top + height, left : left + width], (side / now, side / now, -left, -top)


PRESETS = {
    "yolo": (letterbox, lambda x: x / np.float32(255)),
    "imagenet": (crop, lambda x: (x / 255.0 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])),
    "tf": (crop, lambda x: (x - np.float32(127)) / 128),
    "unit": (stretch, lambda x: x / np.float32(255)),
    "none": (stretch, lambda x: x),
}


def write_fits():
    """Case 36 and its neighbours. An image is `pattern` or a file under ../shared/data."""
    spec = importlib.util.spec_from_file_location("judge", SHARED / "judge/judge.py")
    judge = None
    if spec and (SHARED / "judge/judge.py").exists():
        judge = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(judge)
    cases = [
        ("pattern", 810, 1080, "yolo", 640, 640), ("pattern", 1920, 1080, "yolo", 640, 640), ("pattern", 640, 480, "yolo", 544, 960),
        ("pattern", 1280, 720, "yolo", 544, 960), ("pattern", 1001, 1280, "yolo", 640, 640), ("pattern", 640, 640, "yolo", 640, 640),
        ("pattern", 100, 40, "yolo", 640, 640), ("pattern", 333, 500, "yolo", 320, 320), ("pattern", 500, 375, "imagenet", 224, 224),
        ("pattern", 120, 90, "imagenet", 224, 224), ("pattern", 341, 256, "tf", 224, 224), ("pattern", 300, 401, "tf", 320, 320),
        ("pattern", 123, 77, "unit", 96, 64), ("pattern", 32, 48, "none", 48, 32),
    ]
    shared = [("imagenet1k/0001.jpg", "tf", 224, 224), ("coco128/images/val2017", "yolo", 640, 640)]
    for name, preset, height, width in shared:
        path = SHARED / "data" / name
        path = sorted(path.glob("*.jpg"))[0] if path.is_dir() else path
        h, w = cv2.imread(str(path)).shape[:2]
        cases.append((str(path.relative_to(SHARED / "data")), w, h, preset, height, width))

    lines = ["# image width height preset target_height target_width, ratio ratio_y left top,",
             "# then channels 0 1 2 of each place of the input with y % 83 == 5 and x % 71 == 3, row by row"]
    for source, w, h, preset, height, width in cases:
        image = pattern(w, h) if source == "pattern" else np.ascontiguousarray(cv2.imread(str(SHARED / "data" / source))[:, :, ::-1])
        fit, normalize = PRESETS[preset]
        fitted, place = fit(image, height, width)
        if judge and preset == "yolo" and height == width:
            other, r, left, top = judge.letterbox(image, height)
            assert np.array_equal(fitted, other) and place == (r, r, left, top), (w, h)
        values = normalize(fitted.astype(np.float32)).astype(np.float32)
        lines.append(f"{source} {w} {h} {preset} {height} {width} {place[0]!r} {place[1]!r} {place[2]} {place[3]}")
        lines.append(" ".join(f"{v:.9g}" for v in values[5::83, 3::71].ravel()))
    (OUT / "fits.txt").write_text("\n".join(lines) + "\n")


def write_arrays():
    """Each type holds 0, 1, ... 5 in 2 x 3 (bool: 0 1 1 1 1 1)."""
    six = np.arange(6).reshape(2, 3)
    for name in "f4 f8 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1".split():
        np.save(OUT / f"{name}.npy", six.astype(name))
    np.save(OUT / "fortran.npy", np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4)))
    np.save(OUT / "big_endian.npy", six.astype(">f4"))
    np.save(OUT / "complex.npy", six.astype("c8"))
    np.save(OUT / "records.npy", np.zeros(2, [("a", "f4"), ("b", "i4")]))
    np.save(OUT / "scalar.npy", np.float32(7))
    np.save(OUT / "no_rows.npy", np.zeros((0, 3), "f4"))
    with open(OUT / "version2.npy", "wb") as f:
        np.lib.format.write_array(f, six.astype("f4"), version=(2, 0))
    image, size = np.arange(24, dtype="f4").reshape(2, 3, 4), np.array([[5], [6]], "i8")
    np.savez(OUT / "stored.npz", image=image, size=size)
    np.savez_compressed(OUT / "deflated.npz", image=image, size=size)
    np.savez(OUT / "uneven.npz", image=image, size=np.zeros((3, 1), "i8"))


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    write_images()
    write_fits()
    write_arrays()

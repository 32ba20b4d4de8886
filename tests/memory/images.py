"""Case 15: peak memory does not grow with the number of images. python images.py PARE"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

FEW, MANY, LIMIT = 8, 128, 1.1
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
sys.stderr.write(done.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


def network(path):
    """20 convolutions of 16 channels at 64x64."""
    random = np.random.default_rng(0)
    nodes, constants, x = [], [], "images"
    for i in range(20):
        w = random.normal(0, (2 / (9 * (16 if i else 3))) ** 0.5, (16, 16 if i else 3, 3, 3)).astype(np.float32)
        constants.append(numpy_helper.from_array(w, f"w{i}"))
        nodes.append(helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        x = f"r{i}"
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("images", TensorProto.FLOAT, (1, 3, 64, 64))],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, (1, 16, 64, 64))], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)


def images(folder, count):
    folder.mkdir()
    for i in range(count):
        pixels = np.random.default_rng(i).integers(0, 256, (64, 64, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:03}.png")


def peak_kb(command):
    """Peak resident memory of a command, measured by a fresh process that has no other child."""
    done = subprocess.run([sys.executable, "-c", MEASURE, *map(str, command)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return int(done.stdout)


def main(pare):
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network(folder / "m.onnx")
        for count in (FEW, MANY):
            images(folder / str(count), count)
        images(folder / "val", 1)

        def peak(words, count):
            return peak_kb([pare, *words, folder / "m.onnx", "--data", folder / str(count), "--val", folder / "val", "--preprocess",
                            "unit", "--threads", "1", "-q", "-o", folder / "out"])

        for words in (["calibrate"], *(["quantize", "--no-verify", "--range", r] for r in ("minmax", "entropy", "percentile"))):
            few, many = peak(words, FEW), peak(words, MANY)
            good = many <= LIMIT * few
            failures += not good
            print(f"{'ok  ' if good else 'FAIL'} {' '.join(words)}: {few / 1024:.1f} MB for {FEW} images, {many / 1024:.1f} MB for {MANY}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

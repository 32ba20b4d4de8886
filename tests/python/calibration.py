"""python/pare_calibration.py against `pare calibrate`: PARE_LIBRARY=... python calibration.py PARE FOLDER_OF_PARE_CALIBRATION"""

import resource
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEW, MANY, LIMIT = 8, 128, 1.1
SIZE = 192  # 128 samples are 54 MB then
PARE = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import pare_calibration  # noqa: E402
from pare_calibration import PareError, calibrate  # noqa: E402


def random(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def write(path, nodes, constants, inputs, output):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_tensor_value_info(output[0], TensorProto.FLOAT, output[1])],
        [numpy_helper.from_array(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)
    return path


def images(path, batch="N", depth=2, size=16):
    """Convolutions of 16 channels."""
    nodes, constants, x = [], {}, "x"
    for i in range(depth):
        constants[f"w{i}"] = random((16, 16 if i else 3, 3, 3), i)
        nodes += [helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], pads=[1] * 4), helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
        x = f"r{i}"
    return write(path, nodes, constants, [("x", TensorProto.FLOAT, (batch, 3, size, size))], (x, (batch, 16, size, size)))


def tokens(path):
    """Numbers of words and a mask, of any length."""
    nodes = [helper.make_node("Gather", ["table", "ids"], ["e"]), helper.make_node("Unsqueeze", ["mask", "last"], ["m"]),
             helper.make_node("Mul", ["e", "m"], ["b"]), helper.make_node("MatMul", ["b", "w"], ["h"]),
             helper.make_node("Relu", ["h"], ["r"]), helper.make_node("MatMul", ["r", "v"], ["y"])]
    constants = {"table": random((9, 16)), "last": np.array([-1], np.int64), "w": random((16, 64), 1), "v": random((64, 16), 2)}
    return write(path, nodes, constants, [("ids", TensorProto.INT64, ("N", "T")), ("mask", TensorProto.FLOAT, ("N", "T"))],
                 ("y", ("N", "T", 16)))


def pare(*words, code=0):
    done = subprocess.run([PARE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == code, f"exit {done.returncode}: {' '.join(map(str, words))}\n{done.stdout}"
    return done.stdout


def of_arrays(folder, model, **arrays):
    """The statistics file that `pare calibrate` writes for these rows."""
    data, output = folder / "a.npz", folder / "expected.stats"
    np.savez(data, **arrays)
    pare("calibrate", "-q", model, "--data", data, "--val", data, "-o", output)
    return output.read_bytes()


def refused(call, *words):
    try:
        call()
    except PareError as e:
        text = str(e)
        assert "\n" not in text and all(w in text for w in words), f"{text!r} lacks one of {words}"
        return e
    raise AssertionError(f"nothing was raised; expected {words}")


def test_equals_pare_calibrate(folder):
    model, x, output = images(folder / "m.onnx"), random((6, 3, 16, 16)), folder / "s.stats"
    expected = of_arrays(folder, model, x=x)
    half = (x * 64).round() / 64  # exact in float16
    cases = {
        "dicts": [{"x": row[None]} for row in x],
        "arrays": [row[None] for row in x],
        "rows without a batch axis": x,
        "float64": [{"x": row[None].astype(np.float64)} for row in x],
        "not contiguous": [np.repeat(row, 2, axis=-1)[None, :, :, ::2] for row in x],
        "other byte order": [row[None].astype(">f4") for row in x],
        "batches of 2": [x[:2], x[2:4], x[4:]],
        "batches of 4 and 2": [x[:4], x[4:]],
        "generator": (row[None] for row in x),
        "another order": x[::-1],
    }
    for name, samples in cases.items():
        assert calibrate(model, samples, output, threads=1).samples == 6, name
        assert output.read_bytes() == expected, name
    calibrate(model, half.astype(np.float16), output)
    assert output.read_bytes() == of_arrays(folder, model, x=half), "float16"
    assert calibrate(images(folder / "four.onnx", 4), [x[:4], x[4:]], output).samples == 6
    assert output.read_bytes() == of_arrays(folder, folder / "four.onnx", x=x), "a batch of 4 that the model fixes"


def test_sequences_of_any_length(folder):
    """Case 13: lengths 3, 7, 5; the whole is the sum of the parts, so nothing was padded."""
    model, output, parts = tokens(folder / "m.onnx"), folder / "s.stats", []
    ids = [np.random.default_rng(n).integers(0, 9, (1, n)) for n in (3, 7, 5)]
    samples = [{"ids": row, "mask": np.ones(row.shape, np.float32)} for row in ids]
    for i, sample in enumerate(samples):
        parts.append(folder / f"{i}.stats")
        parts[-1].write_bytes(of_arrays(folder, model, **sample))
    pare("merge", "-q", *parts, "-o", folder / "whole.stats")
    expected = (folder / "whole.stats").read_bytes()
    assert calibrate(model, samples, output).samples == 3
    assert output.read_bytes() == expected
    calibrate(model, [{"mask": s["mask"].astype(np.float64), "ids": s["ids"].astype(np.int16)} for s in samples], output)
    assert output.read_bytes() == expected, "converted"


def test_statistics_serve_quantize(folder):
    model, x, output = images(folder / "m.onnx", 1), random((10, 3, 16, 16)), folder / "s.stats"
    calibrate(model, x, output)
    assert "not verified: no data" in pare("quantize", model, "--statistics", output, "-o", folder / "q.onnx")
    np.save(folder / "x.npy", x)
    same = ["quantize", "-q", "--no-verify", model, "--data", folder / "x.npy", "--val", folder / "x.npy", "-o"]
    pare(*same, folder / "direct.onnx")
    pare(*same, folder / "taken.onnx", "--statistics", output)
    assert (folder / "taken.onnx").read_bytes() == (folder / "direct.onnx").read_bytes()


def test_exceptions_pass_through(folder):
    model, output, seen = images(folder / "m.onnx"), folder / "s.stats", []

    def failing():
        yield random((1, 3, 16, 16))
        raise KeyError("mine")

    try:
        calibrate(model, failing(), output, progress=lambda done, total: seen.append((done, total)))
        raise AssertionError("nothing was raised")
    except KeyError as e:
        assert e.args == ("mine",)
    assert seen == [(1, None)] and not list(folder.glob("s.stats*"))
    calibrate(model, [random((1, 3, 16, 16))] * 2, output, progress=lambda done, total: seen.append((done, total)))
    assert seen[1:] == [(1, 2), (2, 2)]


def test_refuses_in_one_line(folder):
    model, words, output, good = images(folder / "m.onnx"), tokens(folder / "t.onnx"), folder / "s.stats", random((1, 3, 16, 16))
    nan, ids, mask = good.copy(), np.ones((1, 3), np.int64), np.ones((1, 3), np.float32)
    nan[0, 1, 2, 3] = np.nan
    for samples, parts in (
        ([good, nan], ("tensor 'x'", "1 NaN or infinite", "sample '1'")),
        ([np.concatenate([good, nan])], ("tensor 'x'", "sample '0[1]'")),
        ([{"y": good}], ("sample '0'", "no input 'y'", "it takes 'x'")),
        ([{}], ("sample '0'", "no array", "'x'")),
        ([good.astype(np.uint8)], ("sample '0'", "array 'x'", "uint8", "float32")),
        ([good.astype(np.float64) * 1e300], ("array 'x'", "float64", "cannot hold")),
        ([[[None]]], ("array 'x'", "object")),
        (["word"], ("array 'x'", "<U4")),
        ([good[..., :5]], ("sample '0'", "1x3x16x5")),
        ([], ("calibration set is empty",)),
    ):
        assert refused(lambda: calibrate(model, samples, output), *parts).code == 3, parts
    for sample, parts in (
        (ids, ("one array", "'ids', 'mask'", "dict")),
        ({"ids": ids}, ("no array", "'mask'")),
        ({"ids": ids, "mask": mask, "labels": ids}, ("no input 'labels'",)),
        ({"ids": ids.astype(np.float32), "mask": mask}, ("array 'ids'", "float32", "int64")),
        ({"ids": np.array([[2**63]], np.uint64), "mask": mask}, ("array 'ids'", "cannot hold")),
    ):
        refused(lambda: calibrate(words, [sample], output), *parts)
    assert not list(folder.glob("s.stats*"))
    assert refused(lambda: calibrate(folder / "nowhere.onnx", [], output), "nowhere.onnx", "no such file").code == 3
    assert refused(lambda: calibrate(model, [], folder / "none/s.stats"), "none/s.stats").code == 6
    closed = pare_calibration.Calibration(model, output)
    closed.close()
    refused(lambda: closed.add(good), "closed")


def peak_kb(model, count, output):
    """Of a process of its own."""
    command = [sys.executable, __file__, PARE, sys.argv[2], "--peak", model, str(count), output]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def test_memory_does_not_grow(folder):
    """Case 15, fed from Python."""
    model = images(folder / "m.onnx", size=SIZE)
    few, many = (peak_kb(model, count, folder / "s.stats") for count in (FEW, MANY))
    print(f"{few / 1024:.1f} MB for {FEW} samples, {many / 1024:.1f} MB for {MANY}")
    assert many <= LIMIT * few


def main():
    if len(sys.argv) > 3:
        _, _, _, _, model, count, output = sys.argv
        calibrate(model, (random((1, 3, SIZE, SIZE), i) for i in range(int(count))), output, threads=1)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return 0
    failures = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Path(folder))
                print(f"ok   {name}")
            except Exception:
                failures += 1
                print(f"FAIL {name}\n{traceback.format_exc()}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())

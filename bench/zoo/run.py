#!/usr/bin/env python3
"""Quantizes every network of a zoo, and judges the results with ONNX Runtime and numpy alone.

$(./setup) run.py ZOO_DIR --pare BIN [--only NAME ...] [--peers]
"""

import argparse
import contextlib
import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime as ort

from macs import count_macs, integer_share
from samples import network_inputs

LIMIT_S = 180
WIDTH = 120
NARROW = {"tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
Samples = list[dict[str, np.ndarray]]


@dataclass
class Row:
    name: str
    kind: str
    status: str = "ok"
    sqnr: dict[str, float] = field(default_factory=dict)
    equal: dict[str, float] = field(default_factory=dict)  # of integer outputs: share that is the same
    share: float | None = None
    reasons: int | None = None
    seconds: float = 0.0
    peers: dict[str, str] = field(default_factory=dict)


def run_all(model: Path, samples: Samples) -> dict[str, list[np.ndarray]]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rows = [session.run(None, fitted(session, sample)) for sample in samples]
    return {output.name: [row[i] for row in rows] for i, output in enumerate(session.get_outputs())}


def fitted(session: ort.InferenceSession, sample: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The sample in the model's own type, repeated up to its batch."""
    feed = {}
    for given in session.get_inputs():
        if given.name not in sample:  # an initializer that an old file lists among the inputs
            continue
        x = sample[given.name]
        batch = given.shape[0] if given.shape and isinstance(given.shape[0], int) else 1
        x = np.repeat(x, batch // len(x), 0) if batch > len(x) else x
        feed[given.name] = x.astype(NARROW.get(given.type, x.dtype))
    return feed


def compare(row: Row, expected: dict[str, list[np.ndarray]], found: dict[str, list[np.ndarray]]) -> None:
    if list(expected) != list(found):
        raise ValueError(f"outputs are {list(found)}, were {list(expected)}")
    for name, values in expected.items():
        pairs = [(a, b) for a, b in zip(values, found[name]) if a.shape == b.shape]
        if not pairs:
            continue
        if values[0].dtype.kind != "f":
            row.equal[name] = float(np.mean([np.mean(a == b) for a, b in pairs]))
            continue
        signal = sum(float(np.sum(a.astype(np.float64) ** 2)) for a, _ in pairs)
        noise = sum(float(np.sum((a.astype(np.float64) - b) ** 2)) for a, b in pairs)
        row.sqnr[name] = 10 * np.log10(signal / noise) if noise else np.inf


def judge(row: Row, model: Path, result: Path, samples: Samples) -> None:
    compare(row, run_all(model, samples), run_all(result, samples))
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    sample = fitted(session, samples[0])
    row.share = integer_share(count_macs(result, sample), count_macs(model, sample))


def quantize(entry: dict, zoo: Path, pare: str, samples: Samples) -> Row:
    row = Row(entry["name"], entry["kind"])
    model, result = zoo / entry["path"], zoo / "int8" / entry["path"]
    report = result.with_suffix(".report.json")
    result.unlink(missing_ok=True)
    command = [pare, "quantize", str(model), "--data", str(zoo / entry["data"]), "-o", str(result), *entry["options"]]
    command += ["--report", str(report), "--threads", "1"]
    started = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        row.status = f"no end after {LIMIT_S} s"
        return row
    row.seconds = time.monotonic() - started
    result.with_suffix(".log").write_text(" ".join(command) + f"\n{done.stdout}{done.stderr}\nexit {done.returncode}\n")
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()]
        row.status = f"exit {done.returncode}: {last[-1] if last else 'no message'}"
        return row
    row.reasons = len(json.loads(report.read_text()).get("float_reasons", []))
    try:
        judge(row, model, result, samples)
    except Exception as error:  # a file that does not load is a result of this bench
        row.status = f"bad output: {type(error).__name__}: {error}"
    return row


class Reader:
    """Feeds a peer's calibration."""

    def __init__(self, feeds: Samples) -> None:
        self.rest = iter(feeds)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.rest, None)


def onnxruntime_static(model: Path, result: Path, feeds: Samples) -> None:
    from onnxruntime.quantization import QuantFormat, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = result.with_suffix(".prepared.onnx")
    quant_pre_process(model, prepared, skip_symbolic_shape=False)
    quantize_static(prepared, result, Reader(feeds), quant_format=QuantFormat.QDQ)


def nncf_default(model: Path, result: Path, feeds: Samples) -> None:
    import nncf
    import onnx

    onnx.save(nncf.quantize(onnx.load(model), nncf.Dataset(feeds)), result)


PEERS: dict[str, Callable[[Path, Path, Samples], None]] = {"onnxruntime": onnxruntime_static, "nncf": nncf_default}


def run_peers(row: Row, entry: dict, zoo: Path, samples: Samples) -> None:
    model = zoo / entry["path"]
    for peer, make in PEERS.items():
        result = zoo / peer / entry["path"]
        result.parent.mkdir(exist_ok=True)
        try:
            session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
            feeds = [fitted(session, s) for s in network_inputs(zoo / entry["data"], entry["inputs"], entry["options"])]
            with contextlib.chdir(result.parent):  # onnxruntime leaves files where it runs
                make(model, result, feeds)
            judged = Row(row.name, row.kind)
            judge(judged, model, result, samples)
            row.peers[peer] = f"{decibels(judged)} / {percent(judged.share)}"
        except Exception as error:
            row.peers[peer] = cell(f"{type(error).__name__}: {error}", 60)


def decibels(row: Row) -> str:
    parts = [f"{min(row.sqnr.values()):.1f}"] if row.sqnr else []
    parts += [f"{100 * share:.1f} % equal" for share in row.equal.values()]
    return ", ".join(parts) or "-"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def cell(text: str, width: int = WIDTH) -> str:
    line = " ".join(text.split()).replace("|", "/")
    return line if len(line) <= width else line[: width - 1] + "…"


def verdict(row: Row, entry: dict) -> str:
    if row.status != "ok":
        refused = row.status.startswith("exit 4")
        return row.status + (" (as expected)" if refused and entry["expect"] == "refused" else "")
    notes = []
    if entry["expect"] == "refused":
        notes.append("a refusal was expected")
    if row.sqnr and min(row.sqnr.values()) < 25 and not entry["selects"]:
        notes.append("SQNR < 25")
    if entry["conv"] and row.share is not None and row.share < 0.95:
        notes.append("integer < 95 %")
    return "ok" + (f": {', '.join(notes)}" if notes else "")


def table(rows: list[Row], entries: dict[str, dict], peers: bool) -> str:
    head = ["name", "kind", "result", "SQNR dB, worst output", "integer MACs %", "float reasons", "s"]
    head += [f"{peer}: dB / %" for peer in PEERS] if peers else []
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row.name, row.kind, verdict(row, entries[row.name]), decibels(row), percent(row.share)]
        cells += ["-" if row.reasons is None else str(row.reasons), f"{row.seconds:.1f}"]
        cells += [row.peers.get(peer, "-") for peer in PEERS] if peers else []
        lines.append("| " + " | ".join(cell(c) for c in cells) + " |")
    words = Counter(verdict(row, entries[row.name]).split(":")[0] for row in rows)
    return "\n".join(lines) + f"\n\n{len(rows)} networks: " + ", ".join(f"{n} {word}" for word, n in words.most_common()) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--pare", required=True, help="the program")
    parser.add_argument("--only", nargs="+", help="names")
    parser.add_argument("--peers", action="store_true", help="also onnxruntime.quantization and NNCF (setup --peers)")
    arguments = parser.parse_args()

    zoo: Path = arguments.zoo.resolve()
    (zoo / "int8").mkdir(exist_ok=True)
    entries = {entry["name"]: entry for entry in json.loads((zoo / "zoo.json").read_text())}
    rows = []
    for name in arguments.only or entries:
        entry = entries[name]
        samples = network_inputs(zoo / entry["held_out"], entry["inputs"], entry["options"])
        row = quantize(entry, zoo, arguments.pare, samples)
        if arguments.peers:
            run_peers(row, entry, zoo, samples)
        rows.append(row)
        print(f"{name}: {verdict(row, entry)}, {decibels(row)} dB, integer {percent(row.share)} %", flush=True)
    text = table(rows, entries, arguments.peers)
    if not arguments.only:
        (zoo / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

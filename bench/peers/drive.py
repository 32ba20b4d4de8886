"""Runs pare and its peers on two real models, judges every file they write, and prints the tables. Started by `run`."""
import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BOTH = ("yolov8n", "efficientnet_lite0")
YOLO, EFFICIENTNET = BOTH[:1], BOTH[1:]


@dataclass(frozen=True)
class Row:
    """One tool with one setting: one line of each model's table."""
    tool: str
    setting: str
    label: str
    models: tuple[str, ...] = BOTH
    limit: dict[str, int] = field(default_factory=dict)  # images, where all would not fit in memory
    slow: bool = False


# The first peer that leaves a file is the one that the last latency column refers to.
ROWS = [
    Row("pare", "", "**pare** (verification included)"),
    Row("pare", "--range l2", "pare --range l2"),
    Row("pare", "--range mean-minmax", "pare --range mean-minmax"),
    Row("pare", "--range entropy", "pare --range entropy"),
    Row("pare", "--range minmax", "pare --range minmax"),
    Row("pare", "--no-follow", "pare --no-follow"),
    Row("onnxruntime", "minmax", "onnxruntime quantize_static, per-channel, uint8 activations, MinMax"),
    Row("onnxruntime", "default", "onnxruntime, its defaults (per-tensor, int8, MinMax)"),
    Row("onnxruntime", "minmax-head", "onnxruntime MinMax, whole head excluded by hand", YOLO),
    Row("onnxruntime", "minmax-tail", "onnxruntime MinMax, decode tail excluded by hand", YOLO),
    Row("onnxruntime", "entropy-tail", "onnxruntime Entropy, decode tail excluded by hand", YOLO, {"yolov8n": 32}),
    Row("onnxruntime", "percentile-tail", "onnxruntime Percentile, decode tail excluded by hand", YOLO, {"yolov8n": 32}),
    Row("onnxruntime", "percentile-head", "onnxruntime Percentile, whole head excluded by hand", YOLO, {"yolov8n": 32}),
    Row("onnxruntime", "percentile", "onnxruntime Percentile, per-channel", EFFICIENTNET),
    Row("onnxruntime", "dynamic", "onnxruntime quantize_dynamic"),
    Row("nncf", "performance", "NNCF, preset performance (its default)"),
    Row("nncf", "mixed", "NNCF, preset mixed"),
    Row("onnxsim", "minmax", "onnxsim quantize_static, minmax"),
    Row("onnxsim", "auto", "onnxsim quantize_static, auto"),
    Row("onnxsim", "full-percentile", "onnxsim full_graph, percentile"),
    Row("onnxsim", "full-auto", "onnxsim full_graph, auto"),
    Row("quark", "A8W8", "AMD Quark A8W8 (its default)"),
    Row("quark", "S8S8_AAWS", "AMD Quark S8S8_AAWS"),
    Row("quark", "INT8_CNN_ACCURATE", "AMD Quark INT8_CNN_ACCURATE (AdaRound)", slow=True),
    Row("modelopt", "entropy", "NVIDIA ModelOpt int8, entropy (its default)"),
    Row("modelopt", "max", "NVIDIA ModelOpt int8, max"),
    Row("aimet", "minmax", "AIMET, min-max"),
    Row("aimet", "cle", "AIMET, cross-layer equalization and SQNR ranges"),
]


@dataclass
class Result:
    row: Row
    out: Path
    failed: str = ""
    seconds: float = 0
    peak: int = 0
    figures: dict[str, dict] = field(default_factory=dict)  # by what the judge was asked


@dataclass(frozen=True)
class Model:
    name: str
    file: str
    preprocess: str
    pare: tuple[str, ...]
    judged: tuple[str, ...]
    columns: str


MODELS = {
    "yolov8n": Model("yolov8n", "yolov8n_coco.onnx", "letterbox", (), ("detect", "agree"),
                     "mAP | agreement F1 [95 %] | score rows SQNR dB"),
    "efficientnet_lite0": Model("efficientnet_lite0", "efficientnet_lite0.onnx", "crop", ("--preprocess", "tf"), ("classify",),
                                "top-1 | disagree with float | SQNR dB"),
}


def calibration_images(data: Path, model: str) -> list[Path]:
    if model == "yolov8n":
        return sorted((data / "coco128/images/train2017").glob("*.jpg"))
    lines = (data / "imagenet1k/labels.txt").read_text().split("\n")
    return [data / "imagenet1k" / line.split()[0] for line in lines if line and int(line.split()[1]) % 8 == 0]


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")


def measured(command: list[str], folder: Path, log: Path, timeout: float) -> tuple[str, float, int]:
    """Runs one command in `folder`; returns why it failed, its seconds, its peak memory in bytes (its own children included)."""
    start = time.monotonic()
    with open(log, "w") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder,
                                 env=os.environ | {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"})
    with contextlib.suppress(OSError):  # where memory runs out, the peer has to go, not the user's desktop
        Path(f"/proc/{child.pid}/oom_score_adj").write_text("1000")
    expired = threading.Event()
    timer = threading.Timer(timeout, lambda: (expired.set(), child.kill()))
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    failed = ""
    if expired.is_set():
        failed = f"stopped after {timeout:.0f} s"
    elif child.returncode < 0:
        failed = f"killed by signal {-child.returncode} at {usage.ru_maxrss / 1e6:.1f} GB"
    elif child.returncode > 0:
        failed = last_line(log.read_text(errors="replace"))
    return failed, time.monotonic() - start, usage.ru_maxrss * 1024


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.data = options.shared / "data"
        self.pythons = dict(v.split("=", 1) for v in options.venv)
        self.failed = dict(v.split("=", 1) for v in options.failed)

    def quantize(self, model: Model, row: Row) -> Result:
        folder = self.options.out / model.name
        stem = "_".join([row.tool, *row.setting.replace("--", "").split()])
        result = Result(row, folder / f"{stem}.onnx")
        images = folder / "calibration.txt"
        if row.tool in self.failed:
            result.failed = "does not install: " + self.failed[row.tool]
            return result
        if row.tool == "pare":
            command = [str(self.options.pare), "quantize", model.file, "--data", str(images), "-o", str(result.out), *model.pare,
                       *row.setting.split()]
        else:
            # -P: a tool's file has the name of the package it imports.
            command = [self.pythons[row.tool], "-P", str(HERE / "tools" / f"{row.tool}.py"), model.file, str(result.out),
                       "--setting", row.setting, "--images", str(images), "--preprocess", model.preprocess]
            if model.name in row.limit:
                command += ["--limit", str(row.limit[model.name])]
        print(f"peers: {model.name}: {row.label} ...", end=" ", file=sys.stderr, flush=True)
        result.out.unlink(missing_ok=True)
        # Each run gets a copy of the model in a folder of its own: ModelOpt overwrites its input, Quark litters where it runs.
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            shutil.copyfile(self.data / "models" / model.file, Path(scratch) / model.file)
            result.failed, result.seconds, result.peak = measured(command, Path(scratch), folder / f"{stem}.log",
                                                                  self.options.timeout * 60)
        if not result.failed and not result.out.exists():
            result.failed = "wrote no file"
        print(result.failed or f"{result.seconds:.0f} s, {result.peak / 1e9:.2f} GB", file=sys.stderr, flush=True)
        return result

    def judge(self, what: str, files: list[Path]) -> list[dict]:
        answer = self.options.out / "judge.json"
        answer.unlink(missing_ok=True)
        command = [sys.executable, self.options.shared / "judge/judge.py", what, *files, "--json", answer]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(last_line(done.stdout))
        return json.loads(answer.read_text())

    def judge_all(self, what: str, results: list[Result]) -> None:
        """Asks for all files at once, the float model first; where that fails, for each alone with the float model."""
        good = [r for r in results if not r.failed]
        print(f"peers: judge {what}, {len(good)} files", file=sys.stderr, flush=True)
        try:
            for result, figures in zip(good, self.judge(what, [r.out for r in good])):
                result.figures[what] = figures
        except RuntimeError:
            for result in good:
                try:
                    result.figures[what] = self.judge(what, [good[0].out, result.out])[1]
                except RuntimeError as e:
                    result.failed = f"not judged ({what}): {e}"


def others_busy(seconds: float = 3) -> float:
    """The share of the processors that is busy while this program sleeps."""
    def ticks() -> tuple[int, int]:
        values = [int(v) for v in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(values), values[3] + values[4]
    before = ticks()
    time.sleep(seconds)
    after = ticks()
    return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])


def accuracy(result: Result, model: Model) -> list[str]:
    def db(value: float | None) -> str:
        return "" if value is None else f"{value:.1f}"
    if model.name == "yolov8n":
        agree = result.figures["agree"]
        return [f"{result.figures['detect']['mAP']:.4f}", f"{agree['f1']:.3f} [{agree['low']:.3f}, {agree['high']:.3f}]",
                db(agree["scores_db"])]
    figures = result.figures["classify"]
    return [f"{figures['top1']:.4f}", f"{figures['disagreement']:.4f}", db(figures["sqnr_db"])]


def table(model: Model, results: list[Result], note: str) -> str:
    columns = (f"tool and setting | {model.columns} | latency / float | latency / first peer | integer / float layers | MB | s | "
               "peak GB")
    lines = [f"## {model.name}", "", f"| {columns} |", "|---" * (columns.count("|") + 1) + "|"]
    first = next((r for r in results if not r.failed and r.row.tool not in ("float", "pare")), None)
    for r in results:
        label = r.row.label + (f", {r.row.limit[model.name]} images" if model.name in r.row.limit else "")
        if r.failed:
            reason = r.failed.replace("|", "/")[:160]
            cells = [label, reason, *[""] * (columns.count("|") - 1)]
        else:
            latency, kernels = r.figures["latency"], r.figures["kernels"]
            cells = [label, *accuracy(r, model), f"{latency['ratio']:.2f}",
                     f"{latency['ratio'] / first.figures['latency']['ratio']:.2f}" if first else "",
                     f"{kernels['integer']} / {kernels['float']}", f"{r.out.stat().st_size / 1e6:.2f}",
                     f"{r.seconds:.1f}" if r.seconds else "", f"{r.peak / 1e9:.2f}" if r.peak else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", note, ""])


def cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown processor")
    return f"{name}, {os.cpu_count()} processors"


def main() -> None:
    tools = list(dict.fromkeys(row.tool for row in ROWS))
    parser = argparse.ArgumentParser(prog="bench/peers/run", description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder with data/ and judge/")
    parser.add_argument("--out", type=Path, required=True, help="folder for the INT8 files, logs, tables and results.json")
    parser.add_argument("--only", nargs="+", choices=tools, default=tools, metavar="NAME", help=f"of {', '.join(tools)}")
    parser.add_argument("--model", nargs="+", choices=BOTH, default=BOTH, help="of the two")
    parser.add_argument("--pare", type=Path, default=HERE.parents[1] / "build/release/cli/pare", help="the program")
    parser.add_argument("--slow", action="store_true", help="also AdaRound of Quark, 15 minutes and more for each model")
    parser.add_argument("--images", type=int, help="calibrate on the first N images only: a quick look, not the tables")
    parser.add_argument("--timeout", type=float, default=60, help="minutes for one tool on one model")
    parser.add_argument("--venv", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--failed", action="append", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.shared, options.out, options.pare = options.shared.resolve(), options.out.resolve(), options.pare.resolve()
    for path in (options.shared / "judge/judge.py", options.pare):
        if not path.exists():
            parser.error(f"{path} does not exist")
    bench = Bench(options)
    rows = [r for r in ROWS if r.tool in options.only and (options.slow or not r.slow)]

    results: dict[str, list[Result]] = {}
    for model in map(MODELS.get, options.model):
        (options.out / model.name).mkdir(parents=True, exist_ok=True)
        images = calibration_images(bench.data, model.name)[:options.images]
        (options.out / model.name / "calibration.txt").write_text("".join(f"{i.resolve()}\n" for i in images))
        results[model.name] = [Result(Row("float", "", "float"), bench.data / "models" / model.file)]
        results[model.name] += [bench.quantize(model, row) for row in rows if model.name in row.models]

    for name, files in results.items():
        for result in files:
            if not result.failed:
                try:
                    result.figures["kernels"] = bench.judge("kernels", [result.out])[0]
                except RuntimeError as e:
                    result.failed = f"ONNX Runtime refuses the file: {e}"
        for what in MODELS[name].judged:
            bench.judge_all(what, files)
    busy = others_busy()
    for files in results.values():
        bench.judge_all("latency", files)

    note = f"{cpu()}; {time.strftime('%Y-%m-%d')}; others kept {busy:.0%} of the processors busy before latency was measured."
    tables = "\n".join(table(MODELS[name], files, note) for name, files in results.items())
    (options.out / "tables.md").write_text(tables)
    rows_json = [{"model": name, "tool": r.row.tool, "setting": r.row.setting, "failed": r.failed, "seconds": r.seconds,
                  "peak_bytes": r.peak, **r.figures} for name, files in results.items() for r in files]
    (options.out / "results.json").write_text(json.dumps(rows_json, indent=1))
    print(tables)


if __name__ == "__main__":
    main()

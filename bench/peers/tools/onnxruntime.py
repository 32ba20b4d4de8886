"""onnxruntime.quantization: quant_pre_process, then quantize_static (or quantize_dynamic), as its documentation has it."""
import inputs
import onnx
from onnxruntime.quantization import CalibrationMethod, QuantType, quantize_dynamic, quantize_static

METHODS = {"minmax": CalibrationMethod.MinMax, "entropy": CalibrationMethod.Entropy, "percentile": CalibrationMethod.Percentile}


def excluded(path: str, part: str) -> list[str]:
    """The nodes that a user of YOLOv8 finds by hand: the whole head (module 22), or what follows its last convolutions."""
    names = [n.name for n in onnx.load(path).graph.node if n.name.startswith("/model.22/")]
    return {"": [], "head": names, "tail": [n for n in names if not n.startswith("/model.22/cv")]}[part]


job = inputs.job()
method, _, part = job.setting.partition("-")
with inputs.prepared(job.model) as model:
    if method == "default":
        quantize_static(model, job.out, inputs.Reader(job))
    elif method == "dynamic":
        quantize_dynamic(model, job.out, weight_type=QuantType.QUInt8)  # ConvInteger takes no int8 weights on the CPU
    else:
        quantize_static(model, job.out, inputs.Reader(job), calibrate_method=METHODS[method], per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, nodes_to_exclude=excluded(model, part))

"""NVIDIA ModelOpt for ONNX: quantize to int8 on the CPU; by default it turns the float part into fp16, slow on CPUs."""
import inputs
import numpy as np
from modelopt.onnx.quantization import quantize

job = inputs.job()
feeds = list(job.feeds())
data = {name: np.concatenate([f[name] for f in feeds]) for name in feeds[0]}
quantize(job.model, "int8", calibration_data=data, calibration_method=job.setting, calibration_eps=["cpu"], output_path=job.out,
         high_precision_dtype="fp32", simplify=True)

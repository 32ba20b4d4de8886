"""AIMET for ONNX: QuantizationSimModel, encodings, export as Q/DQ; "cle" equalizes the layers first and uses the SQNR ranges."""
import inputs
import onnx
from aimet_onnx.cross_layer_equalization import equalize_model
from aimet_onnx.quantsim import QuantizationSimModel

job = inputs.job()
with inputs.prepared(job.model) as path:
    model = onnx.load(path)
if job.setting == "cle":
    equalize_model(model)
sim = QuantizationSimModel(model, quant_scheme="tf_enhanced" if job.setting == "cle" else "min_max")
sim.compute_encodings(job.feeds())
onnx.save(sim.to_onnx_qdq(prequantize_constants=True), job.out)

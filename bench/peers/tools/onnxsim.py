"""onnxsim: simplify, then quantize_static; "full-METHOD" quantizes every activation, not the layers' inputs alone."""
import inputs
import onnx
import onnxsim

job = inputs.job()
model, _ = onnxsim.simplify(job.model)
full, _, method = job.setting.rpartition("-")
onnx.save(onnxsim.quantize_static(model, list(job.feeds()), method=method, full_graph=full == "full"), job.out)

"""NNCF: nncf.quantize on the ONNX model; its default is the preset "performance"."""
import inputs
import nncf
import onnx

job = inputs.job()
with inputs.prepared(job.model) as path:
    model = onnx.load(path)
onnx.save(nncf.quantize(model, nncf.Dataset(list(job.feeds())), preset=nncf.QuantizationPreset(job.setting)), job.out)

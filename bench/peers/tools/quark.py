"""AMD Quark for ONNX: ModelQuantizer with one of its named configurations (A8W8 is the default of its documentation)."""
import inputs
from quark.onnx import ModelQuantizer
from quark.onnx.quantization.config import Config, get_default_config

job = inputs.job()
config = Config(global_quant_config=get_default_config(job.setting))
ModelQuantizer(config).quantize_model(job.model, job.out, inputs.Reader(job))

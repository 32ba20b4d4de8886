# Pinned third-party versions; the cache is keyed by them. Sourced by tools/setup.
ONNX_VERSION=1.23.2
ORT_VERSION=1.32.0
ORT_HEADERS=1.21
PYTHON_PACKAGES="onnx==1.23.2 onnxruntime==1.32.0 numpy opencv-python-headless pycocotools cmake==3.31.6 Pillow"

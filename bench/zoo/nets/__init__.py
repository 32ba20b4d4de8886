from nets import classify, dense, detect, odd, sequence, transform  # noqa: F401  (they register)
from nets.registry import NETS, Net  # noqa: F401

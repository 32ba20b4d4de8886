#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pare/export.h"

namespace pare {

struct InspectOptions {
  std::string model;  ///< ONNX file, float or quantized
};

/// An input or output of the model.
struct PortFacts {
  std::string name, type;                         ///< type: "float", "uint8", ...; "no tensor" for sequences and maps
  std::optional<std::vector<std::string>> shape;  ///< each dimension a number, a symbol or "?"; nullopt for an unknown rank
};

/// Constants of one element type. Each tensor counts once, however many nodes read it.
struct ConstantFacts {
  std::string type;
  int64_t tensors = 0, elements = 0, bytes = 0;
};

/// How the weight of a layer would fare in symmetric int8 (+-127), per output channel and per tensor. NaN and infinities left
/// out.
struct WeightRange {
  int64_t channels = 0;            ///< output channels
  int64_t zero_channels = 0;       ///< of them all zero; the next figure and the levels leave them out
  double ratio = 0;                ///< largest / median over channels of max |w|; 0 where all are zero
  double zero = 0;                 ///< share (0..1) of the weights that are zero already
  double zero_per_channel = 0;     ///< share that are zero or round to it under one scale for each channel
  double zero_per_tensor = 0;      ///< the same under one scale for all
  int64_t levels_per_channel = 0;  ///< distinct int8 numbers in the channel that has the fewest, at most 255
  int64_t levels_per_tensor = 0;
  int64_t not_finite = 0;  ///< NaN and infinite weights
};

/// The weight of one convolution or matrix product.
struct WeightFacts {
  std::string node, op;
  /// integer: stored in integers; fake-quantized: stored in float in front of a QuantizeLinear; unquantized: float although the
  /// other input is quantized; float: float all over; computed: made at run time.
  std::string precision;
  std::string weight;                ///< stored tensor; "" where computed
  std::string type;                  ///< of the stored tensor
  std::vector<int64_t> shape;        ///< of the stored tensor
  int64_t bytes = 0;                 ///< of the stored tensor
  std::optional<WeightRange> range;  ///< nullopt where values or scales are not in the file
};

struct InspectReport {
  std::string file;
  int64_t bytes = 0;  ///< of the file, without external data
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  ///< domain ("ai.onnx" first) -> version, of domains that nodes use
  int64_t unused_opsets = 0;                            ///< domains imported, but used by no node
  std::string producer;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<PortFacts> inputs, outputs;
  int64_t nodes = 0;                                       ///< of the main graph
  std::vector<std::pair<std::string, int64_t>> operators;  ///< main graph, most first; other domains: "com.microsoft.QGemm"
  int64_t subgraphs = 0, subgraph_nodes = 0;          ///< bodies of If, Loop, Scan; weights and constants in them count below
  bool local_functions = false;                       ///< the model defines functions, which are not looked into
  std::vector<ConstantFacts> parameters;              ///< weights, biases, normalizations, embeddings
  std::vector<ConstantFacts> quantization_constants;  ///< scales and zero points
  std::vector<ConstantFacts> other_constants;         ///< shapes, indices, limits, grids
  int64_t multiply_adds = 0;                          ///< of convolutions and matrix products
  bool free_batch = false;                            ///< the batch is free: multiply_adds are those of one sample
  int64_t uncounted_nodes = 0;  ///< convolutions and matrix products whose shapes are unknown: not in multiply_adds
  int64_t quantize = 0, dequantize = 0, dynamic_quantize = 0, qlinear = 0, integer = 0;  ///< Q, DQ, QLinear* and QGemm, *Integer*
  int64_t int8_weights = 0;                                                              ///< weights stored in 8-bit integers
  int64_t weight_bytes = 0;                                                              ///< of the stored weights
  std::vector<WeightFacts> weights;                                                      ///< largest ratio first
};

/// From here on, one scale for a whole weight leaves most of its channels next to nothing.
inline constexpr double kOutlierRatio = 100;

/// What is in a file. Errors: those of a file that cannot be read or is no valid model.
PARE_API InspectReport inspect(const InspectOptions& options);

/// The report as JSON, as the program's --json prints it.
PARE_API std::string to_json(const InspectReport& report);

}  // namespace pare

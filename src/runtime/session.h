#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "ir/graph.h"

namespace pare {

struct SessionOptions {
  int threads = 1;               ///< of one run; the runtime's own default differs, so it is always given
  bool optimize = true;          ///< all of the runtime's graph optimizations, or none
  bool spin = true;              ///< threads wait busily for the next run: right for latency, wasteful between runs
  std::string profile_prefix{};  ///< record a profile into files that begin so; empty = off
};

/// One named input or output. Dimensions that are not fixed are -1.
struct Port {
  std::string name;
  DType type = DType::undefined;
  Shape shape;
  bool any_rank = false;  ///< the graph states no shape; the runtime shows that as a scalar
};

using Feeds = std::vector<std::pair<std::string, Tensor>>;

/// A view of one output that lives while the visitor runs.
struct OutputView {
  DType type;
  Shape shape;
  const void* data;
};

/// A model in ONNX Runtime on the CPU. The only place, with its source, that knows ONNX Runtime.
class Session {
 public:
  /// Errors: unsupported, with the runtime's own words, where it refuses the model.
  explicit Session(const Graph& graph, const SessionOptions& options = {});
  /// `bytes` is a whole ONNX file.
  explicit Session(const std::string& bytes, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  [[nodiscard]] const std::vector<Port>& inputs() const;
  [[nodiscard]] const std::vector<Port>& outputs() const;

  /// Runs once and returns all outputs. An empty feed name stands for the only input; floats are rounded for an input of half
  /// precision. Errors: input, where a feed does not fit;
  /// unsupported for an output that is no tensor of numbers.
  std::vector<Tensor> run(const Feeds& feeds);
  /// The same without copies: `visit` gets all outputs, in the order of outputs(), once and on this thread.
  void run(const Feeds& feeds, const std::function<void(std::span<const OutputView>)>& visit);

  /// Ends profiling and returns the profile's file name.
  std::string end_profiling();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "1.32.0", the version of the ONNX Runtime library that is loaded.
std::string runtime_version();

}  // namespace pare

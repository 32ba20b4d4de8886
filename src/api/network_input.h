#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/preprocess.h"
#include "data/samples.h"
#include "ir/graph.h"
#include "pare/data_options.h"

namespace pare {

/// What a network is fed with: settled once per run from model, options and metadata.
struct NetworkInput {
  Dataset dataset;
  std::optional<Preprocess> preprocess;  ///< of images; nullopt for arrays
  int height = 0, width = 0;             ///< of images
  DType type = DType::f32;               ///< of images
  std::vector<std::string> names;        ///< of the model's inputs
  int64_t batch = 0;                     ///< of the model to write; 0 = free or 1, as it is
  std::string text;                      ///< "images:1x3x640x640", for reports and the key of statistics

  /// Canonical text of the preprocessing; empty for arrays.
  [[nodiscard]] std::string preprocess_text() const { return preprocess ? to_json(*preprocess) : ""; }
};

/// Makes a fixed batch 1, since samples are measured one at a time. Fixes the size of the graph's image input (to --shape, else
/// to its own, else to the metadata's imgsz) and finds its preprocessing (option, else metadata); a uint8 input takes pixels as
/// they are, so that it must not normalize. Errors: usage for a missing
/// --preprocess or a --shape that is none; unsupported for a free size without --shape, a batch that cannot be changed, another
/// layout, rank or type than an image's. Without options.data, `fed` says what the network is made ready for; images then need no
/// preprocessing.
NetworkInput settle_input(Graph& graph, const DataOptions& options, std::optional<Dataset::Kind> fed = std::nullopt);

struct Sources {
  std::unique_ptr<SampleSource> calibration, held_out;
};
/// Opens both halves of the data; of a single image there is no held-out half. Errors: usage without data, input for an empty
/// set.
Sources open_sources(const NetworkInput& input, const DataOptions& options);

/// The inputs of the first sample that can be used. Errors: input where none can.
NamedTensors first_usable(SampleSource& samples);

}  // namespace pare

#include "api/network_input.h"

#include <charconv>

#include "data/metadata.h"
#include "passes/resize_input.h"
#include "passes/set_batch.h"

namespace pare {
namespace {

Shape parse_shape(const std::string& text) {
  Shape shape;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at <= end;) {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    const bool separated = next == end || *next == 'x';
    if (error != std::errc() || value <= 0 || !separated)
      throw Error(ErrorKind::usage, "'" + text + "' is no shape").at("--shape").fix("write it as 1x3x544x960");
    shape.push_back(value);
    at = next + 1;
  }
  return shape;
}

std::string dims_text(const Value& value) {
  if (!value.dims) return "of unknown rank";
  std::string text;
  for (const Dim& d : *value.dims)
    text += (text.empty() ? "" : "x") + (d.size ? std::to_string(*d.size) : d.symbol.empty() ? "?" : d.symbol);
  return text;
}

/// The image input, its layout told by where the three channels stand.
struct ImageInput {
  Preprocess::Layout layout;
  size_t height_axis;
};

ImageInput image_input(const Graph& graph) {
  const auto refuse = [](const std::string& what) {
    return Error(ErrorKind::unsupported, what).fix("give the samples as --data FILE.npz, one array for each input");
  };
  if (graph.inputs.size() != 1) throw refuse("the model has " + std::to_string(graph.inputs.size()) + " inputs, images feed one");
  const Value& input = graph.inputs.front();
  if (input.type != DType::f32 && !is_half(input.type) && input.type != DType::u8)
    throw refuse("input '" + input.name + "' is " + dtype_name(input.type) + ", images are float or uint8");
  if (!input.dims || input.dims->size() != 4)
    throw refuse("input '" + input.name + "' is " + dims_text(input) + ", an image is 1x3xHxW");
  if ((*input.dims)[1].size == 3) return {Preprocess::Layout::nchw, 2};
  if ((*input.dims)[3].size == 3) return {Preprocess::Layout::nhwc, 1};
  throw refuse("input '" + input.name + "' is " + dims_text(input) + ", no axis holds 3 channels");
}

/// An input of bytes takes pixels as they are: the network normalizes them itself.
void refuse_normalization(const Preprocess& preprocess, const std::string& input) {
  const Preprocess pixels = preset("none");
  if (preprocess.mean == pixels.mean && preprocess.std == pixels.std) return;
  throw Error(ErrorKind::usage,
              "input '" + input + "' is uint8, which takes pixels as they are, and the preprocessing normalizes")
      .at("--preprocess")
      .fix(R"(give none, or a JSON file with "mean": 0 and "std": 1)");
}

}  // namespace

NetworkInput settle_input(Graph& graph, const DataOptions& options, std::optional<Dataset::Kind> fed) {
  NetworkInput input;
  for (const Value& v : graph.inputs) input.names.push_back(v.name);
  if (!options.data.empty())
    input.dataset = open_dataset(options.data);
  else if (fed)
    input.dataset.kind = *fed;
  if (options.batch < 0) throw Error(ErrorKind::usage, "allowed is 1 or more").at("--batch");
  input.batch = options.batch;
  if (const auto batch = fixed_batch(graph).value_or(1); batch != 1) {
    if (input.batch == 0) input.batch = batch;
    graph = set_batch(std::move(graph), 1);
  }
  if (!options.shape.empty()) graph = resize_input(std::move(graph), parse_shape(options.shape));
  if (input.dataset.kind == Dataset::Kind::arrays) {
    for (const Value& v : graph.inputs) input.text += (input.text.empty() ? "" : ",") + v.name + ":" + dims_text(v);
    return input;
  }
  const ImageInput image = image_input(graph);
  input.type = graph.inputs.front().type;
  const auto size_of = [&](size_t axis) { return (*graph.inputs.front().dims)[axis].size; };
  if (!size_of(image.height_axis) || !size_of(image.height_axis + 1)) {
    const auto size = metadata_imgsz(graph.metadata);
    if (!size)
      throw Error(ErrorKind::unsupported, "input '" + graph.inputs.front().name + "' is " + dims_text(graph.inputs.front()) +
                                              ": its height and width are free")
          .fix("say which with --shape 1x3xHxW");
    Shape shape{1, 3, size->first, size->second};
    if (image.layout == Preprocess::Layout::nhwc) shape = {1, size->first, size->second, 3};
    graph = resize_input(std::move(graph), shape);
  }
  for (auto& [key, value] : graph.metadata)
    if (key == "imgsz")
      value = "[" + std::to_string(*size_of(image.height_axis)) + ", " + std::to_string(*size_of(image.height_axis + 1)) + "]";
  input.height = static_cast<int>(*size_of(image.height_axis));
  input.width = static_cast<int>(*size_of(image.height_axis + 1));
  input.text = graph.inputs.front().name + ":" + dims_text(graph.inputs.front());
  if (options.data.empty() && fed && options.preprocess.empty()) return input;
  input.preprocess = options.preprocess.empty() ? from_metadata(graph.metadata) : read_preprocess(options.preprocess);
  if (!input.preprocess) {
    std::string names;
    for (const std::string& name : preset_names()) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::usage, "the model does not say how its images are preprocessed, and it is never guessed")
        .fix("give --preprocess " + names + " or a JSON file");
  }
  if (options.preprocess.empty() || input.preprocess->layout == Preprocess::Layout::nchw) input.preprocess->layout = image.layout;
  if (input.preprocess->layout != image.layout)
    throw Error(ErrorKind::usage,
                "the preprocessing makes NHWC, input '" + graph.inputs.front().name + "' is " + dims_text(graph.inputs.front()))
        .at("--preprocess");
  if (input.type == DType::u8) refuse_normalization(*input.preprocess, graph.inputs.front().name);
  return input;
}

Sources open_sources(const NetworkInput& input, const DataOptions& options) {
  if (options.data.empty()) throw Error(ErrorKind::usage, "no data").fix("give the samples with --data");
  Sources sources;
  const auto held_out_set = [&] {
    Dataset set = open_dataset(options.val, "held-out");
    if (set.kind != input.dataset.kind)
      throw Error(ErrorKind::usage, "one of --data and --val holds images, the other arrays").at(options.val);
    return set;
  };
  if (input.dataset.kind == Dataset::Kind::arrays) {
    const ArraySource whole(input.dataset.source, input.names);
    if (!options.val.empty()) {
      sources.calibration = std::make_unique<ArraySource>(whole);
      sources.held_out = std::make_unique<ArraySource>(held_out_set().source, input.names);
    } else if (!input.dataset.held_out.empty()) {  // all of it is to be judged
      sources.held_out = std::make_unique<ArraySource>(whole);
    } else {
      sources.calibration = std::make_unique<ArraySource>(whole.part(false));
      sources.held_out = std::make_unique<ArraySource>(whole.part(true));
    }
    return sources;
  }
  std::vector<std::string> calibration = input.dataset.files;
  std::vector<std::string> held_out = options.val.empty() ? input.dataset.held_out : held_out_set().files;
  if (held_out.empty()) {
    Split split = split_held_out(calibration);
    calibration = std::move(split.calibration);
    held_out = std::move(split.held_out);
  }
  const auto open = [&](std::vector<std::string> files) -> std::unique_ptr<SampleSource> {
    if (files.empty()) return nullptr;
    return std::make_unique<ImageSource>(std::move(files), *input.preprocess, input.height, input.width, input.type);
  };
  sources.calibration = open(std::move(calibration));
  sources.held_out = open(std::move(held_out));
  return sources;
}

NamedTensors first_usable(SampleSource& samples) {
  for (size_t i = 0; i < samples.size(); ++i)
    if (auto sample = samples.load(i)) return std::move(sample->inputs);
  throw Error(ErrorKind::input, "none of the samples could be used");
}

}  // namespace pare

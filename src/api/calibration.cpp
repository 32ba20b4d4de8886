#include "api/calibration.h"

#include <algorithm>
#include <cstring>

#include "api/digest.h"
#include "api/output_file.h"
#include "base/parallel.h"
#include "quantize/make_plan.h"
#include "runtime/cpu.h"
#include "runtime/session.h"
#include "verify/signal.h"

namespace pare {
namespace {

StatisticsKey key_of(const Prepared& model) {
  return {digest(model.graph), model.input.text, model.input.preprocess_text(), this_cpu().name};
}

/// Rows of a sample whose inputs all have the same leading axis; 1 for any other.
size_t row_count(const Sample& sample) {
  std::optional<int64_t> rows;
  for (const auto& [name, tensor] : sample.inputs) {
    if (tensor.shape().empty() || (rows && *rows != tensor.shape().front())) return 1;
    rows = tensor.shape().front();
  }
  return rows && *rows > 1 ? static_cast<size_t>(*rows) : 1;
}

Sample row(const Sample& sample, size_t r) {
  Sample one{.inputs = {}, .placement = {}, .name = sample.name + "[" + std::to_string(r) + "]"};
  for (const auto& [name, tensor] : sample.inputs) one.inputs.emplace_back(name, row(tensor, r));
  return one;
}

bool rows_are_equal(const Sample& sample, size_t rows) {
  return std::all_of(sample.inputs.begin(), sample.inputs.end(), [rows](const auto& input) {
    const auto bytes = input.second.raw();
    const size_t size = bytes.size() / rows;
    return bytes.empty() || std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
  });
}

/// Row `r` of what a network answers to a whole batch, against its answer to that row alone.
bool same_answer(const Tensor& whole, size_t r, const Tensor& alone, size_t rows) {
  constexpr double kSameDb = 60;  // batches of another size are summed up in another order, which costs a few last bits
  if (whole.shape().empty() || whole.shape().front() != static_cast<int64_t>(rows)) return false;
  const Tensor part = row(whole, r);
  if (part.shape() != alone.shape()) return false;
  if (part.type() != DType::f32 && !is_half(part.type())) return part == alone;
  SignalError error;
  error.add(alone, part);
  return error.total().sqnr_db() >= kSameDb;
}

}  // namespace

Calibration run_calibration(const Prepared& model, const Region& region, SampleSource& samples, int threads,
                            const Progress& progress) {
  CollectOptions options{.threads = threads, .channel_axes = channels_to_measure(model.graph, region), .progress = {}};
  if (progress) options.progress = [&](size_t done, size_t total) { progress("calibrate", done, total); };
  Calibration calibration;
  calibration.statistics.key = key_of(model);
  calibration.statistics.tensors = collect(model.graph, tensors_to_measure(model.graph, region), samples, options);
  for (const Skipped& s : samples.skipped()) calibration.skipped.push_back(s.file + ": " + s.reason);
  calibration.statistics.samples = samples.size() - calibration.skipped.size();
  if (calibration.statistics.samples == 0) throw Error(ErrorKind::input, "calibration set is empty");
  return calibration;
}

Calibration read_calibration(const Prepared& model, const std::string& file) {
  Calibration calibration;
  calibration.statistics = load_statistics(file);
  const StatisticsKey& found = calibration.statistics.key;
  const StatisticsKey wanted = key_of(model);
  const auto check = [&](const std::string& what, const std::string& a, const std::string& b, const std::string& way_out) {
    if (a != b)
      throw Error(ErrorKind::input, "was made for another " + what + ": '" + a + "', this run has '" + b + "'")
          .at(file)
          .fix(way_out);
  };
  check("input shape", found.inputs, wanted.inputs, "calibrate again, or give the same --shape");
  if (found.preprocess.empty() && model.input.preprocess)
    calibration.note = file + " was made of arrays: whether they were preprocessed as " + wanted.preprocess + " is not known";
  else if (!model.input.dataset.source.empty() || model.input.preprocess)
    check("preprocessing", found.preprocess, wanted.preprocess, "calibrate again");
  check("model", found.model, wanted.model, "calibrate again");  // last: another shape changes the prepared model, too
  return calibration;
}

FedCalibration::FedCalibration(const std::string& model, const std::string& output, const std::string& shape, int threads)
    : output_((check_output(output, {model}), output)),  // before any work is done for it
      threads_(threads > 0 ? threads : default_threads()),
      model_(prepare_model(model, {.data = "", .val = "", .preprocess = "", .shape = shape}, {}, Dataset::Kind::arrays)),
      region_(integer_region(model_.graph, {})),
      collector_(model_.graph, tensors_to_measure(model_.graph, region_),
                 {.threads = threads_, .channel_axes = channels_to_measure(model_.graph, region_), .progress = {}}) {
  refuse_input_as_output(output_, model_.original.files);
}

bool FedCalibration::rows_apart(const Sample& sample, size_t rows) {
  const auto takes_one = [&sample](const Value& v) {
    const auto given =
        std::find_if(sample.inputs.begin(), sample.inputs.end(), [&v](const auto& i) { return i.first == v.name; });
    return v.dims && v.dims->size() == given->second.shape().size() && v.dims->front().size == 1;
  };
  if (std::all_of(inputs().begin(), inputs().end(), takes_one)) return true;
  if (rows_apart_) return *rows_apart_;
  if (rows_are_equal(sample, rows)) return false;  // this batch cannot tell; the next one may
  try {                                            // a leading axis that is free need not count samples: it may be time
    Session session(model_.graph, {.threads = threads_, .spin = false});
    const std::vector<Tensor> whole = session.run(sample.inputs);
    bool apart = true;
    for (size_t r = 0; r < rows && apart; ++r) {
      const std::vector<Tensor> alone = session.run(row(sample, r).inputs);
      for (size_t o = 0; o < whole.size() && apart; ++o) apart = same_answer(whole[o], r, alone[o], rows);
    }
    rows_apart_ = apart;
  } catch (const Error&) {  // measuring the whole will tell what is wrong, if it is not the rows that the network refuses
    rows_apart_ = false;
  }
  return *rows_apart_;
}

void FedCalibration::add(const Sample& sample) {
  for (const Value& v : inputs())
    if (std::none_of(sample.inputs.begin(), sample.inputs.end(), [&v](const auto& given) { return given.first == v.name; }))
      throw Error(ErrorKind::input, "has no array for the model's input '" + v.name + "'").at("sample '" + sample.name + "'");
  const size_t rows = row_count(sample);
  if (rows > 1 && rows_apart(sample, rows)) {
    for (size_t r = 0; r < rows; ++r) collector_.add(row(sample, r));
    samples_ += rows;
  } else {
    collector_.add(sample);
    ++samples_;
  }
}

CalibrateResult FedCalibration::save() {
  if (samples_ == 0) throw Error(ErrorKind::input, "calibration set is empty");
  const Statistics statistics{key_of(model_), samples_, collector_.statistics()};
  save_statistics(statistics, output_);
  return {static_cast<int64_t>(samples_), static_cast<int64_t>(statistics.tensors.size()), {}};
}

}  // namespace pare

#include "api/judge.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/parallel.h"
#include "calib/collect.h"
#include "data/labels.h"
#include "data/metadata.h"
#include "ir/save.h"
#include "runtime/cpu.h"
#include "runtime/session.h"
#include "verify/agreement.h"
#include "verify/coco_map.h"
#include "verify/detection.h"
#include "verify/held_out_ranges.h"
#include "verify/kernels.h"
#include "verify/latency.h"
#include "verify/signal.h"

namespace pare {
namespace {

constexpr size_t kFewImages = 50;

Geometry geometry(const Placement& p) {
  return {p.ratio, static_cast<double>(p.left), static_cast<double>(p.top), p.image_width, p.image_height};
}

Figure figure(double value, Interval interval) { return {value, interval.low, interval.high}; }

std::optional<HeadLayout> find_head(const Graph& graph, const NetworkInput& input) {
  std::vector<Shape> shapes;
  for (const Value& output : graph.outputs) {
    Shape shape;
    for (const Dim& d : output.dims.value_or(std::vector<Dim>())) shape.push_back(d.size.value_or(1));
    shapes.push_back(std::move(shape));
  }
  const auto names = metadata_names(graph.metadata);
  return recognise_head(shapes, input.height, input.width,
                        names.empty() ? std::nullopt : std::optional<int>(static_cast<int>(names.size())));
}

bool looks_like_classifier(const Graph& graph) {
  if (graph.outputs.size() != 1 || !graph.outputs[0].dims || graph.outputs[0].type != DType::f32) return false;
  const auto& dims = *graph.outputs[0].dims;
  size_t wide = 0;  // one axis holds the classes, all others are 1 or the batch
  for (size_t d = 0; d < dims.size(); ++d) wide += (d == 0 ? dims[d].size.value_or(1) : dims[d].size.value_or(2)) > 1 ? 1 : 0;
  return wide == 1 && dims.size() >= 2;
}

/// Collects the figures of one detector over the images.
struct DetectorRun {
  std::vector<Scored> scored;
  void add(const std::vector<Detection>& found, int image) {
    for (const Detection& d : found) scored.push_back({image, d.cls, d.x1, d.y1, d.x2 - d.x1, d.y2 - d.y1, d.score});
  }
};

class Judge {
 public:
  Judge(const Judged& models, const NetworkInput& input, SampleSource& held_out, const JudgeOptions& options)
      : models_(models), input_(input), held_out_(held_out), options_(options) {}

  VerifyReport run() {
    report_.threads = options_.threads;
    report_.cpu = cpu_description();
    report_.runtime = "ONNX Runtime " + runtime_version() + " CPU";
    find_task();
    match_ports();
    compare();
    if (!models_.test_file.empty() || models_.test_bytes > 0) weigh();
    profile();
    if (options_.latency_rounds > 0) time();
    warn();
    return std::move(report_);
  }

 private:
  void find_task() {
    const Task task = settle_task(options_.task, models_.original, input_);
    report_.task = task.name;
    head_ = task.head;
    report_.head = report_.task == "detect" ? std::string(head_->name) : "";
    report_.models.resize(3);
    report_.models[0].role = "float";
    report_.models[0].file = models_.original_file;
    report_.models[1].role = "float, prepared";
    report_.models[2].role = "int8";
    report_.models[2].file = models_.test_file;
  }

  Error misfit(const std::string& what) const {
    Error error(ErrorKind::input, what);
    return models_.test_file.empty() ? error : error.at(models_.test_file);
  }

  /// The test model must take the float model's inputs and make its outputs, in any order.
  void match_ports() {
    const auto names = [](const std::vector<Value>& ports) {
      std::string text;
      for (const Value& v : ports) text += (text.empty() ? "'" : ", '") + v.name + "'";
      return text;
    };
    const auto find = [](const std::vector<Value>& ports, const std::string& name) {
      return std::find_if(ports.begin(), ports.end(), [&name](const Value& v) { return v.name == name; });
    };
    const auto& inputs = models_.original.inputs;
    for (const Value& input : models_.test.inputs)
      if (find(inputs, input.name) == inputs.end())
        throw misfit("takes input '" + input.name + "', the float model takes " + names(inputs));
    for (const Value& input : inputs)
      if (find(models_.test.inputs, input.name) == models_.test.inputs.end())
        throw misfit("does not take the float model's input '" + input.name + "'");
    const auto& outputs = models_.test.outputs;
    for (const Value& output : models_.original.outputs) {
      const auto found = find(outputs, output.name);
      if (found == outputs.end())
        throw misfit("lacks the float model's output '" + output.name + "', it makes " + names(outputs));
      if (found->type != output.type)
        throw misfit("makes output '" + output.name + "' as " + dtype_name(found->type) + ", the float model as " +
                     dtype_name(output.type));
      test_output_.push_back(static_cast<size_t>(found - outputs.begin()));
    }
  }

  std::vector<Tensor> run_test(Session& test, const NamedTensors& inputs, const std::vector<Tensor>& wanted) const {
    std::vector<Tensor> made;
    try {
      made = test.run(inputs);
    } catch (Error& e) {
      throw models_.test_file.empty() ? e : e.at(models_.test_file);
    }
    std::vector<Tensor> ordered;
    for (size_t o = 0; o < wanted.size(); ++o) {
      ordered.push_back(made[test_output_[o]]);
      if (ordered[o].shape() != wanted[o].shape())
        throw misfit("makes output '" + models_.original.outputs[o].name + "' of shape " + shape_text(ordered[o].shape()) +
                     ", the float model of " + shape_text(wanted[o].shape()));
    }
    return ordered;
  }

  void compare() {
    const std::vector<WatchedTensor> watched = watched_tensors(models_.test, models_.prepared);
    std::vector<std::string> taps;
    taps.reserve(watched.size());
    for (const WatchedTensor& w : watched) taps.push_back(w.tensor);
    const SessionOptions session_options{.threads = options_.threads, .spin = false};
    Session reference(models_.original, session_options);
    Session test(models_.test, session_options);
    Session tapped(with_taps(models_.prepared, taps), session_options);
    HeldOutRanges ranges(watched);
    std::vector<SignalError> signals(models_.original.outputs.size());
    DetectorRun float_run;
    DetectorRun test_run;
    std::vector<GroundTruth> truths;
    std::vector<MatchCounts> matches;
    ClassAgreement classes;

    for (size_t i = 0; i < held_out_.size(); ++i) {
      if (options_.progress) options_.progress("verify", i, held_out_.size());
      const std::optional<Sample> sample = held_out_.load(i);
      if (!sample) continue;
      const int image = static_cast<int>(report_.samples++);
      const std::vector<Tensor> a = reference.run(sample->inputs);
      const std::vector<Tensor> b = run_test(test, sample->inputs, a);
      tapped.run(sample->inputs, [&](std::span<const OutputView> views) {
        parallel_for(watched.size(), options_.threads, [&](size_t w) {
          const OutputView& view = views[models_.prepared.outputs.size() + w];
          ranges.add(w, {static_cast<const float*>(view.data), static_cast<size_t>(element_count(view.shape))});
        });
      });
      for (size_t o = 0; o < signals.size(); ++o)
        if (a[o].type() == DType::f32 && b[o].type() == DType::f32) signals[o].add(a[o], b[o]);
      if (report_.task == "detect") {
        const Geometry g = geometry(sample->placement);
        const auto found_a = decode_detections(a[head_->output], *head_, g);
        const auto found_b = decode_detections(b[head_->output], *head_, g);
        float_run.add(found_a, image);
        test_run.add(found_b, image);
        matches.push_back(match_detections(found_a, found_b));
        add_truths(*sample, image, truths);
      } else if (report_.task == "classify") {
        classes.add(to_floats(a[0]), to_floats(b[0]));
      }
    }
    for (const Skipped& s : held_out_.skipped()) report_.skipped.push_back(s.file + ": " + s.reason);
    if (report_.samples == 0) throw Error(ErrorKind::input, "none of the held-out samples could be used");

    for (size_t o = 0; o < signals.size(); ++o) {
      if (signals[o].samples() == 0) continue;
      const SignalFigures total = signals[o].total();
      report_.outputs.push_back({models_.original.outputs[o].name, total.sqnr_db(), total.max_error});
      if (total.test_non_finite > 0)
        report_.warnings.emplace_back("output '" + models_.original.outputs[o].name + "' of the test model holds " +
                                      std::to_string(total.test_non_finite) + " NaN or infinite values");
    }
    if (report_.task == "detect") {
      const DetectionAgreement agreement = detection_agreement(matches, 1000, options_.seed);
      report_.agreement = figure(agreement.f1, agreement.interval);
      if (!truths.empty()) {
        score(report_.models[0], truths, float_run);
        score(report_.models[2], truths, test_run);
      }
    }
    if (report_.task == "classify")
      report_.disagreement = figure(classes.disagreement().value(), classes.disagreement().interval());
    report_.share_outside = ranges.share_outside();
    for (const HeldOutRange& r : ranges.worst(10))
      report_.ranges.push_back({r.tensor, r.share_outside, r.low, r.high, r.seen_low, r.seen_high});
  }

  void add_truths(const Sample& sample, int image, std::vector<GroundTruth>& truths) {
    const Labels labels = read_labels(sample.name);
    if (labels.found) ++report_.labelled;
    const double w = sample.placement.image_width;
    const double h = sample.placement.image_height;
    for (const Label& l : labels.objects)
      truths.push_back({image, l.cls, (l.x - l.w / 2) * w, (l.y - l.h / 2) * h, l.w * w, l.h * h});
  }

  void score(ModelFigures& model, const std::vector<GroundTruth>& truths, const DetectorRun& run) {
    const CocoMap coco(truths, run.scored, static_cast<int>(report_.samples));
    const MapResult result = coco.result();
    model.map = figure(result.map, coco.map_interval(200, options_.seed, options_.threads));
    model.map50 = result.map50;
  }

  void weigh() {
    const auto of_files = [](const Graph& graph) {
      int64_t bytes = 0;
      std::error_code ignored;
      for (const std::string& file : graph.files) bytes += static_cast<int64_t>(std::filesystem::file_size(file, ignored));
      return bytes;
    };
    report_.models[0].bytes = of_files(models_.original);
    report_.models[1].bytes = static_cast<int64_t>(serialize(models_.prepared).size());
    report_.models[2].bytes = models_.test_bytes > 0 ? models_.test_bytes : of_files(models_.test);
  }

  void profile() {
    constexpr int kRuns = 3;
    const Feeds sample = first_usable(held_out_);
    const std::array<const Graph*, 3> graphs{&models_.original, &models_.prepared, &models_.test};
    for (size_t m = 0; m < graphs.size(); ++m) {
      const auto prefix = std::filesystem::temp_directory_path() / ("pare-profile-" + std::to_string(::getpid()));
      Session session(*graphs[m], {.threads = options_.threads, .profile_prefix = prefix.string()});
      for (int r = 0; r < kRuns; ++r) session.run(sample);
      const std::string file = session.end_profiling();
      const std::string profile = read_file(file);
      std::filesystem::remove(file);
      const KernelReport kernels = whole_profile(profile, kRuns, file);
      ModelFigures& figures = report_.models[m];
      figures.integer_kernels = kernels.integer_macs;
      figures.float_kernels = kernels.float_macs;
      figures.conversions = kernels.conversions;
      figures.provider = kernels.rows.empty() ? "" : kernels.rows.front().provider;
    }
  }

  static KernelReport whole_profile(const std::string& profile, int runs, const std::string& file) {
    try {
      return read_profile(profile, runs);
    } catch (const Error&) {
      throw Error(ErrorKind::system, "the runtime could not write its profile")
          .at(file)
          .fix("make room in the temporary folder, or name another one in TMPDIR");
    }
  }

  void time() {
    if (options_.progress) options_.progress("latency", 0, 1);
    const Feeds sample = first_usable(held_out_);
    std::vector<Session> sessions;
    for (const Graph* graph : {&models_.original, &models_.prepared, &models_.test})
      sessions.emplace_back(*graph, SessionOptions{.threads = options_.threads});
    std::vector<std::function<void()>> runs;
    runs.reserve(sessions.size());
    for (Session& session : sessions) runs.emplace_back([&session, &sample] { session.run(sample, [](auto) {}); });
    const std::vector<Latency> latencies = measure_latency(runs, {.rounds = options_.latency_rounds, .runs = 2, .clock_ms = {}});
    for (size_t m = 0; m < latencies.size(); ++m) {
      ModelFigures& figures = report_.models[m];
      figures.p50_ms = latencies[m].median_ms;
      figures.p90_ms = latencies[m].p90_ms;
      figures.min_ms = latencies[m].min_ms;
      figures.ratio = figure(latencies[m].ratio, latencies[m].ratio_interval);
    }
  }

  void warn() {
    std::vector<std::string>& warnings = report_.warnings;
    if (report_.samples < static_cast<int64_t>(kFewImages))
      warnings.emplace_back(std::to_string(report_.samples) + " held-out samples: too few to judge, see the intervals");
    constexpr double kOutsideLimit = 1e-3;
    if (report_.share_outside > kOutsideLimit)
      warnings.emplace_back(
          "more than .1 % of the held-out values lie outside the calibrated ranges: are the calibration images "
          "like these?");
    const ModelFigures& test = report_.models[2];
    if (options_.latency_rounds > 0 && test.ratio.low > 1) warnings.emplace_back("the test model is SLOWER than the float model");
    if (test.integer_kernels == 0) warnings.emplace_back("the runtime runs no integer kernel in the test model");
  }

  const Judged& models_;
  const NetworkInput& input_;
  SampleSource& held_out_;
  const JudgeOptions& options_;
  std::optional<HeadLayout> head_;
  std::vector<size_t> test_output_;  ///< for each output of the float model
  VerifyReport report_;
};

}  // namespace

void check_task_name(const std::string& task) {
  if (task != "auto" && task != "detect" && task != "classify" && task != "none")
    throw Error(ErrorKind::usage, "'" + task + "' is no task; known are auto, detect, classify, none").at("--task");
}

Task settle_task(const std::string& asked, const Graph& model, const NetworkInput& input) {
  check_task_name(asked);
  Task task{asked, std::nullopt};
  if (input.preprocess && (asked == "auto" || asked == "detect")) task.head = find_head(model, input);
  if (asked == "auto") task.name = task.head ? "detect" : looks_like_classifier(model) ? "classify" : "none";
  if (task.name == "detect" && !task.head)
    throw Error(ErrorKind::unsupported, "no output of the model has a layout that is known for detectors")
        .at("--task detect")
        .fix("use --task none: agreement is measured for any model");
  return task;
}

VerifyReport judge(const Judged& models, const NetworkInput& input, SampleSource& held_out, const JudgeOptions& options) {
  return Judge(models, input, held_out, options).run();
}

}  // namespace pare

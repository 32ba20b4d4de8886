#include "api/judge.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/fnv1a.h"
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
#include "verify/suppression.h"

namespace pare {
namespace {

constexpr size_t kFewImages = 50;

Geometry geometry(const Placement& p) {
  return {p.ratio, static_cast<double>(p.left), static_cast<double>(p.top), p.image_width, p.image_height, p.ratio_y};
}

Figure figure(double value, Interval interval) { return {value, interval.low, interval.high}; }

/// The outputs of `graph`; what is known of its classes comes from `metadata`.
HeadQuestion head_question(const Graph& graph, const Metadata& metadata, const NetworkInput& input) {
  HeadQuestion question{.outputs = {}, .height = input.height, .width = input.width};
  for (const Value& output : graph.outputs) {
    HeadOutput o{output.name, {}, is_half(output.type) ? DType::f32 : output.type};  // see widened
    for (const Dim& d : output.dims.value_or(std::vector<Dim>())) o.shape.push_back(d.size.value_or(-1));
    question.outputs.push_back(std::move(o));
  }
  const auto names = metadata_names(metadata);
  if (!names.empty()) question.classes = static_cast<int>(names.size());
  question.keypoints = metadata_keypoints(metadata);
  return question;
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string outputs_text(const HeadQuestion& question) {
  std::string text;
  for (const HeadOutput& o : question.outputs) text += (text.empty() ? "'" : ", '") + o.name + "' " + shape_text(o.shape);
  return text;
}

/// Whether the declared shape of the float model's output leaves room for both.
bool may_differ(const Value& declared, const Shape& a, const Shape& b) {
  if (a.size() != b.size() || !declared.dims || declared.dims->size() != a.size()) return false;
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d] != b[d] && (*declared.dims)[d].size) return false;
  return true;
}

bool looks_like_classifier(const Graph& graph) {
  if (graph.outputs.size() != 1 || !graph.outputs[0].dims ||
      (graph.outputs[0].type != DType::f32 && !is_half(graph.outputs[0].type)))
    return false;
  const auto& dims = *graph.outputs[0].dims;
  size_t wide = 0;  // one axis holds the classes, all others are 1 or the batch
  for (size_t d = 0; d < dims.size(); ++d) wide += (d == 0 ? dims[d].size.value_or(1) : dims[d].size.value_or(2)) > 1 ? 1 : 0;
  return wide == 1 && dims.size() >= 2;
}

/// Outputs of half precision as float32, the others as they are.
std::vector<Tensor> widened(std::vector<Tensor> tensors) {
  for (Tensor& t : tensors)
    if (is_half(t.type())) t = converted(t, DType::f32);
  return tensors;
}

std::string hexadecimal(uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::string short_number(float value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", static_cast<double>(value));
  return text.data();
}

/// Collects the figures of one detector over the images.
struct DetectorRun {
  std::vector<Scored> scored;
  float lowest_score = HUGE_VALF;
  void add(const std::vector<Detection>& found, int image) {
    for (const Detection& d : found) scored.push_back({image, d.cls, d.x1, d.y1, d.x2 - d.x1, d.y2 - d.y1, d.score});
    if (!found.empty()) lowest_score = std::min(lowest_score, found.back().score);
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
    const Task task = settle_task(options_.task, options_.head, models_.original, input_);
    report_.task = task.name;
    head_ = task.head;
    report_.head = report_.task == "detect" ? std::string(head_->name) : "";
    if (report_.task == "none" && !task.fits.empty())
      report_.notices.push_back("the layout of the detection head is not certain, boxes are not compared: --head " +
                                listed(task.fits) + (task.fits.size() == 1 ? " fits" : " fit"));
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

  /// The test model must take the float model's inputs and make its outputs, in any order; of detectors it is enough that both
  /// have a head.
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
    if (report_.task == "detect") find_test_head();
    const auto& outputs = models_.test.outputs;
    for (const Value& output : models_.original.outputs) {
      const auto found = find(outputs, output.name);
      if (found == outputs.end() && !other_head_)
        throw misfit("lacks the float model's output '" + output.name + "', it makes " + names(outputs));
      if (found != outputs.end() && found->type != output.type && !other_head_)
        throw misfit("makes output '" + output.name + "' as " + dtype_name(found->type) + ", the float model as " +
                     dtype_name(output.type));
      test_output_.push_back(found == outputs.end() ? std::nullopt
                                                    : std::optional<size_t>(static_cast<size_t>(found - outputs.begin())));
    }
    if (head_ && !other_head_) test_head_ = moved(*head_);
  }

  /// Sets `other_head_` where the test model's outputs are not the float model's but hold a head, too: one has its suppression
  /// inside, for example.
  void find_test_head() {
    const HeadQuestion wanted = head_question(models_.original, models_.original.metadata, input_);
    const HeadQuestion made = head_question(models_.test, models_.original.metadata, input_);
    const auto same = [&made](const HeadOutput& output) {
      return std::any_of(made.outputs.begin(), made.outputs.end(), [&output](const HeadOutput& other) {
        if (other.name != output.name) return false;
        if (other.shape.size() != output.shape.size()) return other.shape.empty();
        for (size_t d = 0; d < output.shape.size(); ++d)
          if (other.shape[d] != output.shape[d] && other.shape[d] != -1) return false;
        return true;
      });
    };
    if (std::all_of(wanted.outputs.begin(), wanted.outputs.end(), same)) return;
    test_head_ = recognise_head(made, head_->head);
    if (!test_head_) test_head_ = recognise_head(made);
    other_head_ = test_head_.has_value();
  }

  /// The layout with the numbers of the test model's outputs.
  [[nodiscard]] HeadLayout moved(HeadLayout head) const {
    for (HeadField* field : {&head.boxes, &head.scores, &head.labels}) field->output = *test_output_[field->output];
    for (size_t& level : head.levels) level = *test_output_[level];
    if (head.count) head.count = *test_output_[*head.count];
    return head;
  }

  std::vector<Tensor> run_test(Session& test, const NamedTensors& inputs) const {
    try {
      return widened(test.run(inputs));
    } catch (Error& e) {
      throw models_.test_file.empty() ? e : e.at(models_.test_file);
    }
  }

  /// What the test model made of output `o`; null where its numbers do not correspond to those `wanted`: another number of boxes.
  const Tensor* partner(const std::vector<Tensor>& made, size_t o, const Tensor& wanted) const {
    if (!test_output_[o]) return nullptr;
    const Tensor& tensor = made[*test_output_[o]];
    const Value& declared = models_.original.outputs[o];
    if (tensor.shape() == wanted.shape()) return tensor.type() == wanted.type() ? &tensor : nullptr;
    if (other_head_ || may_differ(declared, tensor.shape(), wanted.shape())) return nullptr;
    throw misfit("makes output '" + declared.name + "' of shape " + shape_text(tensor.shape()) + ", the float model of " +
                 shape_text(wanted.shape()));
  }

  void compare() {
    const std::vector<WatchedTensor> watched =
        watched_tensors(models_.with_ranges != nullptr ? *models_.with_ranges : models_.test, models_.prepared);
    std::vector<std::string> taps;
    taps.reserve(watched.size());
    for (const WatchedTensor& w : watched) taps.push_back(w.tensor);
    const SessionOptions session_options{.threads = options_.threads, .spin = false};
    Session reference(models_.original, session_options);
    Session test(models_.test, session_options);
    Session tapped(with_taps(models_.prepared, taps), session_options);
    HeldOutRanges ranges(watched);
    std::vector<SignalError> signals(models_.original.outputs.size());
    std::vector<int64_t> apart(signals.size(), 0);  // samples of which no numbers correspond
    uint64_t inputs_hash = fnv1a("");
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
      const std::vector<Tensor> a = widened(reference.run(sample->inputs));
      const std::vector<Tensor> b = run_test(test, sample->inputs);
      for (const auto& [name, tensor] : sample->inputs) {
        const auto bytes = tensor.raw();
        inputs_hash = fnv1a({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, inputs_hash);
      }
      tapped.run(sample->inputs, [&](std::span<const OutputView> views) {
        parallel_for(watched.size(), options_.threads, [&](size_t w) {
          const OutputView& view = views[models_.prepared.outputs.size() + w];
          ranges.add(w, {static_cast<const float*>(view.data), static_cast<size_t>(element_count(view.shape))});
        });
      });
      for (size_t o = 0; o < signals.size(); ++o) {
        const Tensor* other = partner(b, o, a[o]);
        if (other != nullptr && other->type() == DType::f32) signals[o].add(a[o], *other);
        apart[o] += other == nullptr ? 1 : 0;
      }
      if (report_.task == "detect") {
        const Geometry g = geometry(sample->placement);
        const auto found_a = decode_detections(a, *head_, g);
        const auto found_b = decode_detections(b, *test_head_, g);
        float_run.add(found_a, image);
        test_run.add(found_b, image);
        matches.push_back(match_detections(found_a, found_b));
        add_truths(*sample, image, truths);
      } else if (report_.task == "classify") {
        classes.add(to_floats(a[0]), to_floats(b[*test_output_[0]]));
      }
    }
    for (const Skipped& s : held_out_.skipped()) report_.skipped.push_back(s.file + ": " + s.reason);
    if (report_.samples == 0) throw Error(ErrorKind::input, "none of the held-out samples could be used");
    report_.inputs_hash = hexadecimal(inputs_hash);
    if (report_.task == "detect") name_differences(float_run, test_run);

    for (size_t o = 0; o < signals.size(); ++o) {
      if (apart[o] > 0)
        report_.notices.push_back("output '" + models_.original.outputs[o].name + "' of the test model has another shape in " +
                                  std::to_string(apart[o]) + " of " + std::to_string(report_.samples) +
                                  " samples: no signal-to-noise ratio of these");
      if (signals[o].samples() == 0) continue;
      const SignalFigures total = signals[o].total();
      report_.outputs.push_back({models_.original.outputs[o].name, total.sqnr_db(), total.max_error});
      if (total.test_non_finite > 0)
        report_.warnings.emplace_back("output '" + models_.original.outputs[o].name + "' of the test model holds " +
                                      std::to_string(total.test_non_finite) + " NaN or infinite values");
    }
    if (report_.task == "detect") {
      const DetectionAgreement agreement = detection_agreement(matches, 1000, options_.seed);
      if (agreement.reference + agreement.test > 0)
        report_.agreement = figure(agreement.f1, agreement.interval);
      else
        report_.warnings.emplace_back("neither model found anything in the held-out images: their agreement is unknown");
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

  /// What selects the boxes of a model, and from which score on.
  static std::string selection_text(const HeadLayout& head, const Graph& graph, const DetectorRun& run) {
    const NmsOptions pare;
    const std::optional<Suppression> inside = find_suppression(graph);
    const auto threshold = [](const std::optional<float>& value) { return value ? short_number(*value) : "not constant"; };
    std::string text = "(" + std::string(head.name) + ") ";
    if (!head.selected)
      text += "leaves the choice of boxes to pare: IoU " + short_number(pare.iou) + ", score above " + short_number(pare.conf);
    else if (inside)
      text += "chooses its boxes itself: IoU " + threshold(inside->iou) + ", score threshold " + threshold(inside->score);
    else
      text += "chooses its boxes itself";
    return run.scored.empty() ? text : text + ", lowest score " + short_number(run.lowest_score);
  }

  void name_differences(const DetectorRun& float_run, const DetectorRun& test_run) {
    const std::optional<Suppression> a = find_suppression(models_.original), b = find_suppression(models_.test);
    const bool both_inside = head_->selected && test_head_->selected;
    if (head_->selected == test_head_->selected && !(both_inside && a != b)) return;
    report_.notices.push_back("the figures hold a difference in what selects the boxes: the float model " +
                              selection_text(*head_, models_.original, float_run) + "; the test model " +
                              selection_text(*test_head_, models_.test, test_run));
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
  std::optional<HeadLayout> head_, test_head_;
  bool other_head_ = false;                         ///< the test model's outputs are others, and hold another head
  std::vector<std::optional<size_t>> test_output_;  ///< for each output of the float model
  VerifyReport report_;
};

}  // namespace

void check_task(const std::string& task, const std::string& head) {
  if (task != "auto" && task != "detect" && task != "classify" && task != "none")
    throw Error(ErrorKind::usage, "'" + task + "' is no task; known are auto, detect, classify, none").at("--task");
  const std::vector<std::string_view> known = head_names();
  if (head.empty() || head == "auto") return;
  if (std::find(known.begin(), known.end(), head) == known.end())
    throw Error(ErrorKind::usage, "'" + head + "' is no head; known are auto, " + listed(known)).at("--head");
  if (task == "classify" || task == "none")
    throw Error(ErrorKind::usage, "a head belongs to --task detect, not to --task " + task).at("--head " + head);
}

Task settle_task(const std::string& task, const std::string& head, const Graph& model, const NetworkInput& input) {
  check_task(task, head);
  Task settled{task, std::nullopt, {}};
  const std::string asked = head == "auto" ? "" : head;
  const std::string place = asked.empty() ? "--task detect" : "--head " + asked;
  if (!input.preprocess && (task == "detect" || !asked.empty()))
    throw Error(ErrorKind::unsupported, "boxes are compared on images, the data are arrays").at(place).fix("use --task none");
  if (input.preprocess && (task == "auto" || task == "detect")) {
    const HeadQuestion question = head_question(model, model.metadata, input);
    settled.head = recognise_head(question, asked);
    if (!settled.head) settled.fits = fitting_heads(question);
    if (!settled.head && (task == "detect" || !asked.empty()))
      throw Error(ErrorKind::unsupported, (asked.empty() ? "no single layout of a detection head fits the outputs "
                                                         : "the outputs do not have this layout: ") +
                                              outputs_text(question))
          .at(place)
          .fix((settled.fits.empty() ? "" : "give --head " + listed(settled.fits) + ", or ") +
               "use --task none: agreement is measured for any model");
  }
  if (task == "auto") settled.name = settled.head ? "detect" : looks_like_classifier(model) ? "classify" : "none";
  return settled;
}

VerifyReport judge(const Judged& models, const NetworkInput& input, SampleSource& held_out, const JudgeOptions& options) {
  return Judge(models, input, held_out, options).run();
}

}  // namespace pare

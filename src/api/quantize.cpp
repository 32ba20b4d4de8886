#include "pare/quantize.h"

#include <algorithm>
#include <array>
#include <map>

#include "api/calibration.h"
#include "api/judge.h"
#include "api/output_file.h"
#include "api/prepare.h"
#include "base/file.h"
#include "base/parallel.h"
#include "formats/dynamic.h"
#include "formats/fold_preprocess.h"
#include "formats/integer_io.h"
#include "formats/qoperator.h"
#include "formats/weights_only.h"
#include "ir/convert_opset.h"
#include "ir/op_table.h"
#include "ir/save.h"
#include "quantize/head.h"
#include "quantize/insert_qdq.h"
#include "quantize/make_plan.h"
#include "runtime/cpu.h"
#include "runtime/session.h"
#include "runtime/versions.h"

namespace pare {
namespace {

Scheme scheme_of(const QuantizeOptions& options, const CpuTarget& cpu) {
  Scheme scheme;
  if (options.activation != "uint8" && options.activation != "int8")
    throw Error(ErrorKind::usage, "'" + options.activation + "' is no activation type; known are uint8, int8").at("--activation");
  if (!(options.percentile > 0 && options.percentile <= 100))
    throw Error(ErrorKind::usage, "allowed is 0 < percentile <= 100").at("--percentile");
  scheme.activation = options.activation == "uint8" ? DType::u8 : DType::i8;
  scheme.symmetric = options.symmetric;
  scheme.per_channel = !options.per_tensor;
  scheme.weight_bits = cpu.weight_bits();
  scheme.range = range_method(options.range);
  scheme.percentile = options.percentile;
  scheme.follow_activation = options.follow_activation;
  scheme.bias_correction = options.bias_correction;
  return scheme;
}

std::string report_file(const QuantizeOptions& options) {
  return options.report.empty() ? options.output + ".report.json" : options.report;
}

void check_outputs(const QuantizeOptions& options) {
  if (options.dry_run) return;
  if (options.output.empty())
    throw Error(ErrorKind::usage, "no output file").fix("give one with -o");  // before a name is made of it
  for (const std::string& output : {options.output, report_file(options)})
    check_output(output,
                 {options.model, options.data.data, options.data.val, options.data.preprocess, options.plan, options.statistics});
  if (options.output == report_file(options) || same_file(options.output, report_file(options)))
    throw Error(ErrorKind::usage, "cannot hold both the model and the report").at(options.output).fix("choose another --report");
}

/// What stands in for data that is not there: the statistics tell of what kind and shape it was.
struct MeasuredInput {
  DataOptions options;
  Dataset::Kind kind = Dataset::Kind::images;
};

MeasuredInput measured_input(const QuantizeOptions& options) {
  const StatisticsKey key = load_statistics(options.statistics).key;
  MeasuredInput input{options.data, key.preprocess.empty() ? Dataset::Kind::arrays : Dataset::Kind::images};
  if (!options.data.shape.empty()) return input;
  std::string shape = key.inputs.substr(key.inputs.rfind(':') + 1);  // "images:Nx3x544x960"
  if (const size_t batch = shape.find('x'); batch != std::string::npos && shape.find_first_not_of("0123456789") < batch)
    shape.replace(0, batch, "1");  // a free batch stays free under --shape
  if (key.inputs.find(',') == std::string::npos && shape.find_first_not_of("0123456789x") == std::string::npos)
    input.options.shape = shape;
  return input;
}

/// Nodes in bodies of If, Loop and Scan that would have an integer kernel outside.
void count_in_subgraphs(const Graph& graph, std::map<std::string, int64_t>& reasons) {
  for (const Node& node : graph.nodes)
    for (const auto& [key, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) {
        for (const Node& n : (*inner)->nodes)
          if (const OpRow* row = op_row(n); row != nullptr && !row->ort_integer_kernel.empty())
            ++reasons[n.op_type + ": it stands in a subgraph"];
        count_in_subgraphs(**inner, reasons);
      }
}

/// Shapes, indices, conditions: what was never float is not left float.
bool makes_no_float(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& name) {
    const auto value = graph.value(name);
    const DType type = value ? value->type : DType::undefined;
    return name.empty() || !(type == DType::undefined || type == DType::f32 || type == DType::f64 || is_half(type));
  });
}

/// Plan -> which nodes run on integers, in the graph's order.
void count_nodes(const Graph& graph, const Plan& plan, QuantizeResult& result, Log& log) {
  std::map<std::string, int64_t> reasons;
  count_in_subgraphs(graph, reasons);
  for (const auto& [reason, count] : reasons) result.float_nodes += count;
  if (result.float_nodes > 0)
    log.push_back({"region", "", std::to_string(result.float_nodes) + " nodes in subgraphs left float",
                   "branches and bodies are kept whole"});
  for (const Node& node : graph.nodes) {
    const NodePlan& n = plan.nodes.at(node.outputs.front());
    if (!n.integer && makes_no_float(graph, node)) continue;
    ++(n.integer ? result.integer_nodes : result.float_nodes);
    if (!n.integer) ++reasons[node.op_type + ": " + n.reason];
  }
  result.float_reasons.assign(reasons.begin(), reasons.end());
  std::stable_sort(result.float_reasons.begin(), result.float_reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
}

struct FormatRow {
  std::string_view name;
  bool calibrated;  ///< holds measured ranges
};
constexpr std::array<FormatRow, 4> kFormats{{{"qdq", true}, {"qoperator", true}, {"dynamic", false}, {"weights", false}}};

const FormatRow& format_row(const std::string& name) {
  const auto* row = std::find_if(kFormats.begin(), kFormats.end(), [&](const FormatRow& r) { return r.name == name; });
  if (row == kFormats.end())
    throw Error(ErrorKind::usage, "'" + name + "' is no format; known are qdq, qoperator, dynamic, weights").at("--format");
  return *row;
}

/// One run of `quantize`, step by step.
class Quantization {
 public:
  explicit Quantization(const QuantizeOptions& options)
      : options_(options),
        format_(format_row(options.format)),
        threads_(options.threads > 0 ? options.threads : default_threads()),
        cpu_(options.target_cpu.empty() ? this_cpu() : cpu_target(options.target_cpu)),
        scheme_(scheme_of(options, cpu_)),
        has_data_(!options.data.data.empty()) {}

  QuantizeResult run() {
    check_options();
    open();
    if (format_.calibrated) {
      const Plan plan = settle_plan();
      quantized_ = insert_qdq(model_.graph, plan, model_.log);
    } else {
      quantized_ = without_calibration();
    }
    quantized_.producer = "pare";
    const Graph with_ranges = quantized_;
    if (format_.name == "qoperator") quantized_ = to_qoperator(std::move(quantized_), model_.log);
    if (!options_.dry_run) {
      verify(with_ranges);
      finish();
    }
    for (const LogRow& row : model_.log) result_.decisions.push_back({row.stage, row.place, row.what, row.why});
    if (options_.dry_run) return std::move(result_);
    save_model(quantized_, options_.output);
    write_file(report_file(options_), to_json(result_));
    return std::move(result_);
  }

 private:
  void check_options() const {
    check_outputs(options_);
    check_task(options_.task, options_.head);
    if (options_.io != "float" && options_.io != "uint8" && options_.io != "int8")
      throw Error(ErrorKind::usage, "'" + options_.io + "' is no type of inputs; known are float, uint8, int8").at("--io");
    if (options_.io != "float" && options_.fold_preprocess)
      throw Error(ErrorKind::usage, "both say what the input holds").at("--io and --fold-preprocess").fix("leave one out");
    // Statistics take the place of data, except for what only samples can tell.
    if (!has_data_ && options_.statistics.empty() && format_.calibrated)
      throw Error(ErrorKind::usage, "no data").fix("give the samples with --data");
    if (!has_data_ && !options_.data.val.empty()) throw Error(ErrorKind::usage, "held-out samples without --data").at("--val");
    if (!format_.calibrated && (!options_.plan.empty() || !options_.statistics.empty()))
      throw Error(ErrorKind::usage, "holds no calibrated ranges: a plan or statistics say nothing to it")
          .at("--format " + options_.format);
  }

  void open() {
    result_.format = options_.format;
    result_.target_cpu = cpu_.name;
    result_.weight_bits = scheme_.weight_bits;
    const MeasuredInput data = has_data_ || !format_.calibrated
                                   ? MeasuredInput{options_.data, has_data_ ? Dataset::Kind::images : Dataset::Kind::arrays}
                                   : measured_input(options_);
    model_ = prepare_model(options_.model, data.options, options_.disabled_passes, data.kind);
    if (!options_.runtime.empty()) {
      const RuntimeVersion& runtime = runtime_version_row(options_.runtime);
      runtime_ = runtime.minor;
      if (model_.graph.opset() > runtime.opset) model_.graph = convert_opset(std::move(model_.graph), runtime.opset);
      model_.graph.ir_version = std::min(model_.graph.ir_version, runtime.ir);
    }
    if (!options_.dry_run)
      for (const std::string& output : {options_.output, report_file(options_)}) {
        refuse_input_as_output(output, model_.original.files);
        refuse_input_as_output(output, model_.input.dataset);
      }
    if (options_.verify) settle_task(options_.task, options_.head, model_.original, model_.input);
    if (!has_data_) return;
    sources_ = open_sources(model_.input, options_.data);
    first_ = first_usable(*sources_.calibration);
    check_same_function(model_, first_, threads_, model_.log);
  }

  Plan settle_plan() {
    Plan plan;
    if (!options_.plan.empty()) {
      if (!options_.exclude.empty())
        throw Error(ErrorKind::usage, "a plan says itself what stays float")
            .at("--exclude")
            .fix("edit the plan, or leave --plan out");
      plan = plan_from_json(read_file(options_.plan), options_.plan);
      result_.weight_bits = plan.scheme.weight_bits;
    } else {
      Region region = integer_region(model_.graph, {options_.exclude.begin(), options_.exclude.end()}, runtime_);
      const Calibration calibration = options_.statistics.empty()
                                          ? run_calibration(model_, region, *sources_.calibration, threads_, options_.progress)
                                          : read_calibration(model_, options_.statistics);
      note_ = calibration.note;
      if (!note_.empty()) model_.log.push_back({"calibrate", options_.statistics, "noted", note_});
      if (const std::string& made_on = calibration.statistics.key.cpu; made_on != this_cpu().name)
        model_.log.push_back({"calibrate", options_.statistics, "noted", "made on " + made_on + ", whose last bits may differ"});
      result_.calibration_samples = static_cast<int64_t>(calibration.statistics.samples);
      result_.skipped = calibration.skipped;
      const PlanMaker make = [&](const Region& r) { return make_plan(model_.graph, r, calibration.statistics.tensors, scheme_); };
      if (has_data_)
        settle_head(model_.graph, region, make, *sources_.calibration, threads_, model_.log);
      else
        keep_head_float(model_.graph, region, model_.log);
      plan = make(region);
    }
    result_.plan_json = to_json(plan);
    for (const Node& node : model_.graph.nodes)
      plan.nodes.try_emplace(node.outputs.front(), NodePlan{node.op_type, false, "not in the plan"});
    count_nodes(model_.graph, plan, result_, model_.log);
    return plan;
  }

  Graph without_calibration() {
    const std::set<std::string> excluded(options_.exclude.begin(), options_.exclude.end());
    Plan plan;
    plan.scheme = scheme_;
    result_.plan_json = to_json(plan);
    Log log;
    Graph graph = format_.name == "dynamic" ? quantize_dynamic(model_.graph, scheme_, excluded, log)
                                            : quantize_weights_only(model_.graph, scheme_, excluded, log);
    std::map<std::string, int64_t> reasons;
    for (const LogRow& row : log) {
      ++(row.what == "float" ? result_.float_nodes : result_.integer_nodes);
      if (row.what == "float") ++reasons[row.why];
    }
    result_.float_reasons.assign(reasons.begin(), reasons.end());
    model_.log.insert(model_.log.end(), log.begin(), log.end());
    return graph;
  }

  void verify(const Graph& with_ranges) {
    if (!options_.verify || !sources_.held_out) {
      result_.not_verified = !options_.verify ? "--no-verify" : has_data_ ? "no held-out samples" : "no data";
      return;
    }
    const Judged judged{model_.original, model_.graph,    quantized_,
                        options_.model,  options_.output, static_cast<int64_t>(serialize(quantized_).size()),
                        &with_ranges};
    result_.verification = judge(judged, model_.input, *sources_.held_out,
                                 {.task = options_.task,
                                  .head = options_.head,
                                  .threads = threads_,
                                  .seed = options_.seed,
                                  .latency_rounds = 7,
                                  .progress = options_.progress});
    if (!note_.empty()) result_.verification->warnings.push_back(note_);
  }

  /// What changes how the model is fed, after it was judged.
  void finish() {
    if (model_.input.batch > 0) quantized_ = with_batch(quantized_, model_.input.batch, first_, threads_);
    if (options_.io != "float")
      quantized_ = integer_io(std::move(quantized_), options_.io == "uint8" ? DType::u8 : DType::i8, model_.log);
    if (options_.fold_preprocess) {
      if (!model_.input.preprocess)
        throw Error(ErrorKind::usage, "the samples are arrays, there is no preprocessing to fold").at("--fold-preprocess");
      quantized_ = fold_preprocess(std::move(quantized_), *model_.input.preprocess);
    }
    if (options_.io != "float" || options_.fold_preprocess) Session{quantized_};  // the runtime must take it
  }

  const QuantizeOptions& options_;
  const FormatRow& format_;
  int threads_;
  CpuTarget cpu_;
  Scheme scheme_;
  bool has_data_;
  int runtime_ = kPresentRuntime;
  Prepared model_;
  Sources sources_;
  NamedTensors first_;
  std::string note_;
  Graph quantized_;
  QuantizeResult result_;
};

}  // namespace

QuantizeResult quantize(const QuantizeOptions& options) { return Quantization(options).run(); }

}  // namespace pare

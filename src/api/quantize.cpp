#include "pare/quantize.h"

#include <algorithm>
#include <map>

#include "api/calibration.h"
#include "api/judge.h"
#include "api/output_file.h"
#include "api/prepare.h"
#include "base/file.h"
#include "base/parallel.h"
#include "ir/op_table.h"
#include "ir/save.h"
#include "quantize/head.h"
#include "quantize/insert_qdq.h"
#include "quantize/make_plan.h"
#include "runtime/cpu.h"

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

}  // namespace

QuantizeResult quantize(const QuantizeOptions& options) {
  check_outputs(options);
  check_task(options.task, options.head);
  const int threads = options.threads > 0 ? options.threads : default_threads();
  const CpuTarget cpu = options.target_cpu.empty() ? this_cpu() : cpu_target(options.target_cpu);
  const Scheme scheme = scheme_of(options, cpu);
  const bool has_data = !options.data.data.empty();  // statistics take its place, except for what only samples can tell
  if (!has_data && options.statistics.empty()) throw Error(ErrorKind::usage, "no data").fix("give the samples with --data");
  if (!has_data && !options.data.val.empty()) throw Error(ErrorKind::usage, "held-out samples without --data").at("--val");
  QuantizeResult result;
  result.target_cpu = cpu.name;
  result.weight_bits = scheme.weight_bits;

  const MeasuredInput data = has_data ? MeasuredInput{options.data} : measured_input(options);
  Prepared model = prepare_model(options.model, data.options, options.disabled_passes, data.kind);
  if (!options.dry_run)
    for (const std::string& output : {options.output, report_file(options)}) {
      refuse_input_as_output(output, model.original.files);
      refuse_input_as_output(output, model.input.dataset);
    }
  if (options.verify) settle_task(options.task, options.head, model.original, model.input);
  Sources sources;
  if (has_data) sources = open_sources(model.input, options.data);
  const NamedTensors first = has_data ? first_usable(*sources.calibration) : NamedTensors{};
  if (has_data) check_same_function(model, first, threads, model.log);

  Plan plan;
  std::string note;
  if (!options.plan.empty()) {
    if (!options.exclude.empty())
      throw Error(ErrorKind::usage, "a plan says itself what stays float")
          .at("--exclude")
          .fix("edit the plan, or leave --plan out");
    plan = plan_from_json(read_file(options.plan), options.plan);
    result.weight_bits = plan.scheme.weight_bits;
  } else {
    Region region = integer_region(model.graph, {options.exclude.begin(), options.exclude.end()});
    const Calibration calibration = options.statistics.empty()
                                        ? run_calibration(model, region, *sources.calibration, threads, options.progress)
                                        : read_calibration(model, options.statistics);
    if (!calibration.note.empty()) model.log.push_back({"calibrate", options.statistics, "noted", calibration.note});
    note = calibration.note;
    result.calibration_samples = static_cast<int64_t>(calibration.statistics.samples);
    result.skipped = calibration.skipped;
    const PlanMaker make = [&](const Region& r) { return make_plan(model.graph, r, calibration.statistics.tensors, scheme); };
    if (const std::string& made_on = calibration.statistics.key.cpu; made_on != this_cpu().name)
      model.log.push_back({"calibrate", options.statistics, "noted", "made on " + made_on + ", whose last bits may differ"});
    if (has_data)
      settle_head(model.graph, region, make, *sources.calibration, threads, model.log);
    else
      keep_head_float(model.graph, region, model.log);
    plan = make(region);
  }
  result.plan_json = to_json(plan);
  for (const Node& node : model.graph.nodes)
    plan.nodes.try_emplace(node.outputs.front(), NodePlan{node.op_type, false, "not in the plan"});
  count_nodes(model.graph, plan, result, model.log);

  Graph quantized = insert_qdq(model.graph, plan, model.log);
  quantized.producer = "pare";
  for (const LogRow& row : model.log) result.decisions.push_back({row.stage, row.place, row.what, row.why});
  if (options.dry_run) return result;

  if (options.verify && sources.held_out) {
    const Judged judged{model.original, model.graph,    quantized,
                        options.model,  options.output, static_cast<int64_t>(serialize(quantized).size())};
    result.verification = judge(judged, model.input, *sources.held_out,
                                {.task = options.task,
                                 .head = options.head,
                                 .threads = threads,
                                 .seed = options.seed,
                                 .latency_rounds = 7,
                                 .progress = options.progress});
    if (!note.empty()) result.verification->warnings.push_back(note);
  } else {
    result.not_verified = !options.verify ? "--no-verify" : has_data ? "no held-out samples" : "no data";
  }
  if (model.input.batch > 0) quantized = with_batch(quantized, model.input.batch, first, threads);
  save_model(quantized, options.output);
  write_file(report_file(options), to_json(result));
  return result;
}

}  // namespace pare

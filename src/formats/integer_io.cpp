#include "formats/integer_io.h"

#include <fmt/format.h>

#include "ir/edit.h"
#include "pare/error.h"

namespace pare {
namespace {

class Ends {
 public:
  Ends(Graph graph, DType type, Log& log) : graph_(std::move(graph)), index_(graph_), fresh_(graph_), type_(type), log_(log) {}

  Graph run() {
    for (Value& input : graph_.inputs)
      if (input.type == DType::f32) open_input(input);
    for (Value& output : graph_.outputs)
      if (output.type == DType::f32) open_output(output);
    if (facts_.empty())
      throw Error(ErrorKind::usage, "no input or output is quantized to " + dtype_name(type_))
          .at("--io")
          .fix("choose the type of --activation, or leave --io out");
    remove_nodes(graph_, gone_);
    graph_.metadata.emplace_back("pare_io", "{" + facts_ + "}");
    graph_.values.clear();
    remove_unused(graph_);
    return std::move(graph_);
  }

 private:
  bool quantizes(const Node& node) const {
    const Tensor* zero_point = graph_.constant(node.input(2));
    return zero_point != nullptr && zero_point->type() == type_ && zero_point->count() == 1;
  }

  void note(const std::string& name, const Node& node) {
    facts_ += fmt::format("{}\"{}\": {{\"scale\": {}, \"zero_point\": {}}}", facts_.empty() ? "" : ", ", name,
                          graph_.constant(node.inputs[1])->as<float>()[0], to_ints(*graph_.constant(node.inputs[2]))[0]);
  }

  void open_input(Value& input) {
    std::vector<size_t> quantizers;
    for (const size_t reader : index_.consumers(input.name)) {
      const Node& node = graph_.nodes[reader];
      if (node.is("Shape")) continue;
      if (!node.is("QuantizeLinear") || !quantizes(node)) {
        log_.push_back({"integer_io", "input '" + input.name + "'", "float", "float " + node.label() + " reads it"});
        return;
      }
      quantizers.push_back(reader);
    }
    if (quantizers.empty()) return;
    note(input.name, graph_.nodes[quantizers.front()]);
    for (const size_t q : quantizers) {  // one Q is written for a tensor; equal ones may stand in other people's files
      gone_.insert(q);
      replace_uses(graph_, graph_.nodes[q].outputs[0], input.name);
    }
    input.type = type_;
  }

  void open_output(Value& output) {
    const auto p = index_.producer(output.name);
    const auto maker = p && graph_.nodes[*p].is("DequantizeLinear") ? index_.producer(graph_.nodes[*p].inputs[0]) : std::nullopt;
    if (!maker || !quantizes(graph_.nodes[*p]) || gone_.contains(*maker)) {
      log_.push_back({"integer_io", "output '" + output.name + "'", "float", "no DequantizeLinear makes it"});
      return;
    }
    note(output.name, graph_.nodes[*p]);
    if (index_.consumers(output.name).empty()) {
      gone_.insert(*p);
    } else {  // its other readers keep the float values under another name
      graph_.nodes[*p].outputs[0] = fresh_(output.name + "_dequantized");
      replace_uses(graph_, output.name, graph_.nodes[*p].outputs[0]);
    }
    const std::string numbers = graph_.nodes[*p].inputs[0];
    replace_uses(graph_, numbers, output.name);
    for (std::string& name : graph_.nodes[*maker].outputs)
      if (name == numbers) name = output.name;
    output.type = type_;
  }

  Graph graph_;
  const GraphIndex index_;
  FreshNames fresh_;
  DType type_;
  Log& log_;
  std::set<size_t> gone_;
  std::string facts_;
};

}  // namespace

Graph integer_io(Graph graph, DType type, Log& log) { return Ends(std::move(graph), type, log).run(); }

}  // namespace pare

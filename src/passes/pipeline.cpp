#include "passes/pipeline.h"

#include <algorithm>
#include <array>

#include "ir/check.h"
#include "ir/edit.h"
#include "ir/shapes.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/fold_pad.h"
#include "passes/inline_functions.h"
#include "passes/raise_opset.h"
#include "passes/remove_identity.h"
#include "passes/softmax_last_axis.h"
#include "passes/transpose_factors.h"
#include "passes/unfold_conv_transpose.h"
#include "passes/widen_half.h"

namespace pare {
namespace {

constexpr auto kPrepare = std::to_array<Pass>({
    {"inline_functions", inline_functions},            // first: what stands in functions is a node as any other
    {"raise_opset", raise_opset},                      // the passes after it know the operators of opset 13 and later
    {"widen_half", widen_half},                        // before the folds, which read float32
    {"fold_constants", fold_constants},                // lays bare the weights and pads that the folds below look for
    {"remove_identity", remove_identity},              // so that neighbours are neighbours
    {"fold_pad", fold_pad},                            // before BN, which looks for Conv as its direct producer
    {"fold_batch_norm", fold_batch_norm},              //
    {"unfold_conv_transpose", unfold_conv_transpose},  // behind BN's fold, which changes weights
    {"transpose_factors", transpose_factors},          // behind the folds, which make factors constant
    {"softmax_last_axis", softmax_last_axis},          // last: it only moves data
});

}  // namespace

std::span<const Pass> prepare_passes() { return kPrepare; }

Graph run_passes(Graph graph, std::span<const Pass> passes, const PassContext& context, Log& log) {
  for (const std::string& name : context.disabled)
    if (std::none_of(passes.begin(), passes.end(), [&](const Pass& p) { return p.name == name; }))
      throw Error(ErrorKind::usage, "there is no pass '" + name + "'").at("--disable-pass");
  for (const Pass& pass : passes) {
    if (context.disabled.contains(std::string(pass.name))) {
      log.push_back({std::string(pass.name), "", "left out", "disabled by the user"});
      continue;
    }
    try {
      graph = pass.run(std::move(graph), context, log);
      sort_nodes(graph);
      remove_unused(graph);
      check_structure(graph);
      infer_shapes(graph);
    } catch (Error& e) {
      throw e.at("pass " + std::string(pass.name));
    }
  }
  return graph;
}

}  // namespace pare

#include "passes/remove_identity.h"

#include <gtest/gtest.h>

#include "tests/passes/pass_case.h"

namespace pare {
namespace {

using models::Builder;

Builder base(int64_t opset = 13) { return Builder(opset).input("x", {2, 3}); }

std::vector<PassCase> cases() {
  const Tensor no = Tensor(DType::boolean, {});
  Tensor yes = no;
  yes.raw_write()[0] = std::byte{1};
  std::vector<PassCase> all;
  for (const int64_t opset : {13, 17, 22})
    all.push_back({"chain_" + std::to_string(opset),
                   base(opset)
                       .node("Identity", {"x"}, {"a"})
                       .node("Identity", {"a"}, {"b"})
                       .node("Add", {"b", "a"}, {"y"})
                       .output("y")
                       .build(),
                   "Add"});
  all.push_back({"weight",
                 base().weights("w", {3}).node("Identity", {"w"}, {"v"}).node("Add", {"x", "v"}, {"y"}).output("y").build(),
                 "Add"});
  all.push_back({"dropout",
                 base()
                     .constant("r", Tensor::scalar(0.3F))
                     .node("Dropout", {"x", "r"}, {"d"})
                     .node("Neg", {"d"}, {"y"})
                     .output("y")
                     .build(),
                 "Neg"});
  all.push_back(
      {"dropout_not_training",
       base().constant("no", no).node("Dropout", {"x", "", "no"}, {"d", ""}).node("Neg", {"d"}, {"y"}).output("y").build(),
       "Neg"});
  all.push_back({"cast_to_the_same",
                 base()
                     .node("Relu", {"x"}, {"r"})
                     .node("Cast", {"r"}, {"c"}, {{"to", int64_t{1}}})
                     .node("Neg", {"c"}, {"y"})
                     .output("y")
                     .build(),
                 "Relu Neg"});

  all.push_back({"makes_an_output", base().node("Neg", {"x"}, {"n"}).node("Identity", {"n"}, {"y"}).output("y").build(),
                 "Neg Identity", "output of the graph"});
  all.push_back(
      {"input_to_output", base().node("Identity", {"x"}, {"y"}).output("y").build(), "Identity", "output of the graph"});
  all.push_back({"mask_is_read",
                 base()
                     .node("Dropout", {"x"}, {"d", "m"})
                     .node("Cast", {"m"}, {"f"}, {{"to", int64_t{1}}})
                     .node("Mul", {"d", "f"}, {"y"})
                     .output("y")
                     .build(),
                 "Dropout Cast Mul"});
  all.push_back({"real_cast",
                 base()
                     .node("Cast", {"x"}, {"h"}, {{"to", int64_t{10}}})
                     .node("Cast", {"h"}, {"y"}, {{"to", int64_t{1}}})
                     .output("y")
                     .build(),
                 "Cast Cast"});
  all.push_back(
      {"dynamic_training",
       base().input("t", {}, DType::boolean).node("Dropout", {"x", "", "t"}, {"d"}).node("Neg", {"d"}, {"y"}).output("y").build(),
       "Dropout Neg"});
  const Attribute then_branch = Builder().node("Neg", {"i"}, {"t"}).output("t").subgraph();
  const Attribute else_branch = Builder().node("Abs", {"x"}, {"e"}).output("e").subgraph();
  all.push_back({"a_subgraph_reads_it",
                 base()
                     .input("c", {}, DType::boolean)
                     .node("Identity", {"x"}, {"i"})
                     .node("If", {"c"}, {"y"}, {{"then_branch", then_branch}, {"else_branch", else_branch}})
                     .output("y")
                     .build(),
                 "Identity If", "a subgraph reads it"});
  all.push_back({"training",
                 base()
                     .constant("yes", yes)
                     .constant("zero", Tensor::scalar(0.F))
                     .node("Dropout", {"x", "zero", "yes"}, {"d"})
                     .node("Neg", {"d"}, {"y"})
                     .output("y")
                     .build(),
                 "Dropout Neg"});
  return all;
}

TEST(RemoveIdentity, Cases) {
  for (const PassCase& c : cases()) expect(c, {"remove_identity", remove_identity});
}

}  // namespace
}  // namespace pare

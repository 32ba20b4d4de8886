#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "quantize/insert_qdq.h"
#include "tests/quantize/small_net.h"

namespace pare {
namespace {

using models::Builder;

/// A file of tools/golden/quantize.py.
std::map<std::string, Tensor> golden(const std::string& file) {
  std::ifstream in(std::string(PARE_GOLDEN) + "/" + file);
  EXPECT_TRUE(in) << file;
  std::map<std::string, Tensor> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, dims, word;
    words >> name >> dims;
    std::replace(dims.begin(), dims.end(), 'x', ' ');
    std::istringstream sizes(dims);
    Shape shape;
    for (int64_t d; sizes >> d;) shape.push_back(d);
    std::vector<float> values;
    while (words >> word) values.push_back(std::stof(word));
    all[name] = models::floats(shape, values);
  }
  return all;
}

struct ReferenceCase {
  std::string file;
  Scheme scheme;
};

class Reference : public testing::TestWithParam<ReferenceCase> {};

TEST_P(Reference, OfOnnxAndNumpyGivesTheSame) {
  const auto& [file, scheme] = GetParam();
  const auto g = golden(file);
  const Graph net = Builder(17)
                        .input("x", {2, 2, 7, 7})
                        .constant("w", g.at("w"))
                        .constant("b", g.at("b"))
                        .constant("v", g.at("v"))
                        .constant("d", g.at("d"))
                        .node("Conv", {"x", "w", "b"}, {"c"},
                              {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}})
                        .node("Relu", {"c"}, {"r"})
                        .node("Flatten", {"r"}, {"f"})
                        .node("Gemm", {"f", "v", "d"}, {"y"}, {{"transB", int64_t{1}}})
                        .node("Sigmoid", {"y"}, {"s"})
                        .output("y")
                        .output("s")
                        .build();
  std::map<std::string, TensorStatistics> statistics;
  const auto ranges = g.at("ranges").as<float>();
  for (const auto& [name, at] : {std::pair{"x", 0U}, {"r", 2U}, {"y", 4U}})
    statistics[name].histogram.add(std::vector<float>{ranges[at], ranges[at + 1]});
  Scheme minmax = scheme;
  minmax.range = RangeMethod::minmax;
  Log log;
  const Graph q = insert_qdq(net, make_plan(net, integer_region(net, {}), statistics, minmax), log);

  for (const auto& [name, written] : {std::pair{"wq", "w_quantized"},
                                      {"bq", "b_quantized"},
                                      {"vq", "v_quantized"},
                                      {"dq", "d_quantized"},
                                      {"ws", "w_scale"},
                                      {"vs", "v_scale"}})
    EXPECT_EQ(to_floats(*q.constant(written)), to_floats(g.at(name))) << name;
  const float step = to_floats(*q.constant("y_scale"))[0];
  for (const bool optimize : {false, true}) {
    const auto outputs = Session(q, {.threads = 1, .optimize = optimize}).run({{"x", g.at("x")}});
    size_t apart = 0;
    for (size_t i = 0; i < 10; ++i) {
      const float error = std::abs(outputs[0].as<float>()[i] - g.at("y").as<float>()[i]);
      EXPECT_LE(error, step * 1.01F);  // sums in another order may round to the other side
      apart += error > step * .01F ? 1 : 0;
      EXPECT_NEAR(outputs[1].as<float>()[i], g.at("s").as<float>()[i], step / 4 + 1e-6);
    }
    EXPECT_LE(apart, optimize ? 2U : 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Reference,
                         testing::Values(ReferenceCase{"uint8.txt", {}},
                                         ReferenceCase{"uint8_per_tensor.txt", {.per_channel = false}},
                                         ReferenceCase{"uint8_seven_bits.txt", {.weight_bits = 7}},
                                         ReferenceCase{"int8.txt", {.activation = DType::i8}},
                                         ReferenceCase{"int8_symmetric.txt", {.activation = DType::i8, .symmetric = true}}),
                         [](const auto& row) { return row.param.file.substr(0, row.param.file.find('.')); });

}  // namespace
}  // namespace pare

#include "formats/integer_io.h"

#include <gmock/gmock.h>

#include <cmath>

#include "formats/qoperator.h"
#include "numeric/quantization.h"
#include "tests/formats/format_net.h"

namespace pare {
namespace {

using testing::HasSubstr;

/// Scale and zero point of the only Q or DQ that reads or makes `tensor`.
QParams params_of(const Graph& graph, const std::string& tensor) {
  for (const Node& n : graph.nodes)
    if (n.inputs[0] == tensor || n.outputs[0] == tensor)
      return {graph.constant(n.inputs[1])->as<float>()[0], static_cast<int32_t>(to_ints(*graph.constant(n.inputs[2]))[0])};
  return {};
}

TEST(IntegerIo, IntegersInAndOut) {
  Log log;
  const Graph qdq = quantized_form(all_kinds());
  for (const Graph& whole : {qdq, to_qoperator(qdq, log)}) {
    const Graph made = integer_io(whole, DType::u8, log);
    EXPECT_EQ(made.inputs[0].type, DType::u8);
    EXPECT_EQ(made.outputs[0].type, DType::u8);
    EXPECT_EQ(made.outputs[1].type, DType::u8);
    EXPECT_EQ(made.inputs[0].name, "x");
    EXPECT_EQ(made.outputs[0].name, "y");
    EXPECT_THAT(made.metadata.back().second, HasSubstr("\"x\": {\"scale\": "));

    const Tensor x = models::random({1, 3, 16, 16}, 7, 0, 1);
    const QParams in = params_of(whole, "x"), out = params_of(whole, "y");
    const auto wanted = Session(whole).run({{"x", x}});
    const auto found = Session(made).run({{"x", quantize(x.as<float>(), x.shape(), in, DType::u8)}});
    for (size_t i = 0; i < 10; ++i)
      EXPECT_NEAR(wanted[0].as<float>()[i], out.scale * static_cast<float>(found[0].as<uint8_t>()[i] - out.zero_point), 1e-5);
  }
}

TEST(IntegerIo, AnEndOfAnotherTypeIsAnError) {
  Log log;
  EXPECT_THROW(integer_io(quantized_form(all_kinds()), DType::i8, log), Error);
}

TEST(IntegerIo, AFloatEndStaysAndIsLogged) {
  models::Builder b = models::Builder(13).input("x", {1, 3, 16, 16}).weights("w", {8, 3, 3, 3});
  const Graph graph = b.node("Conv", {"x", "w"}, {"c"}).node("Exp", {"c"}, {"y"}).output("y").build();
  Log log;
  const Graph made = integer_io(quantized_form(graph), DType::u8, log);
  EXPECT_EQ(made.inputs[0].type, DType::u8);
  EXPECT_EQ(made.outputs[0].type, DType::f32);
  ASSERT_FALSE(log.empty());
  EXPECT_THAT(log.back().place, HasSubstr("output 'y'"));
}

}  // namespace
}  // namespace pare

#include "tests/passes/pass_case.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "runtime/session.h"

namespace pare {

PassContext with_runtime() {
  return {[](const Graph& g) { return Session(g).run(Feeds{}); }, {}};
}

std::vector<Tensor> outputs_of(const Graph& graph) {
  Session session(graph, {.threads = 1, .optimize = false});
  Feeds feeds;
  for (const Port& port : session.inputs()) {
    Shape shape = port.shape;
    for (int64_t& d : shape) d = d < 0 ? 2 : d;
    Tensor t = models::random(shape, feeds.size() + 1);
    feeds.emplace_back(port.name,
                       port.type == DType::f32 || is_half(port.type) ? converted(t, port.type) : Tensor(port.type, shape));
  }
  return session.run(feeds);
}

void expect(const PassCase& c, const Pass& pass) {
  SCOPED_TRACE(c.name);
  Log log;
  const Graph after = run_passes(c.given, std::span(&pass, 1), with_runtime(), log);
  EXPECT_EQ(models::ops(after), c.ops);
  EXPECT_EQ(after.inputs.size(), c.given.inputs.size());
  bool said = c.why.empty();
  for (const LogRow& row : log) {
    EXPECT_EQ(row.stage, pass.name);
    said = said || row.why.find(c.why) != std::string::npos;
    EXPECT_FALSE(c.why.empty() && row.what == "kept") << row.place << ": " << row.why;
  }
  EXPECT_TRUE(said) << "no row says: " << c.why;
  const auto x = outputs_of(c.given), y = outputs_of(after);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i].type(), y[i].type());
    ASSERT_EQ(x[i].shape(), y[i].shape());
    if (c.tolerance == 0 || (x[i].type() != DType::f32 && !is_half(x[i].type()))) {
      EXPECT_EQ(x[i], y[i]);
      continue;
    }
    const std::vector<float> before = to_floats(x[i]), behind = to_floats(y[i]);
    for (size_t k = 0; k < before.size(); ++k) ASSERT_NEAR(before[k], behind[k], c.tolerance);
  }
}

}  // namespace pare

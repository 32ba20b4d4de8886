#include "pare/verify.h"

#include "api/judge.h"
#include "api/prepare.h"
#include "base/parallel.h"
#include "ir/load.h"
#include "passes/set_batch.h"

namespace pare {

VerifyReport verify(const VerifyOptions& options) {
  check_task(options.task, options.head);
  Prepared model = prepare_model(options.reference, options.data, {});
  Graph test = load_model(options.test);
  if (fixed_batch(test).value_or(1) != 1) test = set_batch(std::move(test), 1);
  // Here all of --data is judged, unless a YAML or --val names the held-out part.
  if (model.input.dataset.held_out.empty()) model.input.dataset.held_out = model.input.dataset.files;
  const Sources sources = open_sources(model.input, options.data);
  return judge({model.original, model.graph, test, options.reference, options.test, 0}, model.input, *sources.held_out,
               {.task = options.task,
                .head = options.head,
                .threads = options.threads > 0 ? options.threads : default_threads(),
                .seed = options.seed,
                .latency_rounds = options.latency_rounds,
                .progress = options.progress});
}

}  // namespace pare

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "command.h"

namespace pare::cli {

Progress progress_printer(const Common& common) {
  if (common.quiet) return {};
  struct State {
    std::string stage;
    int shown = -1;
  };
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  return [terminal, state = std::make_shared<State>()](std::string_view stage, size_t done, size_t total) {
    const int steps = terminal ? 100 : 2;
    const int share = total == 0 ? steps : static_cast<int>(done * static_cast<size_t>(steps) / total);
    if (stage == state->stage && share == state->shown) return;
    state->stage = stage;
    state->shown = share;
    std::fprintf(stderr, terminal ? "\r\033[K%s %zu/%zu" : "%s %zu/%zu\n", state->stage.c_str(), done, total);
    if (terminal && done >= total) std::fputs("\r\033[K", stderr);
  };
}

}  // namespace pare::cli

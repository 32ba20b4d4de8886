#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <new>

#include "command.h"
#include "pare/error.h"

namespace {

using pare::cli::Command;

constexpr std::array kCommands{
    Command{"quantize", "float ONNX + images -> verified INT8 ONNX", pare::cli::declare_quantize},
    Command{"calibrate", "float ONNX + images -> statistics file", pare::cli::declare_calibrate},
    Command{"merge", "statistics of parts -> statistics of the whole, to the bit", pare::cli::declare_merge},
    Command{"verify", "judge a model against its float original", pare::cli::declare_verify},
    Command{"inspect", "what is in a model, and how its weights would fare in int8", pare::cli::declare_inspect},
    Command{"demo", "the main job on scenes and a detector that pare carries", pare::cli::declare_demo},
};

extern "C" void on_interrupt(int /*signal*/) {
  constexpr int kInterrupted = 130;
  ::_exit(kInterrupted);  // temporary files have other names than outputs, so nothing half-written can be taken for a result
}

int run(int argc, char** argv) {
  CLI::App app("pare: make ONNX networks small and fast, and prove that they still answer right", "pare");
  app.require_subcommand(1);
  app.set_version_flag("--version", PARE_VERSION);
  pare::cli::Common common;
  std::function<int()> chosen;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.description);
    sub->add_flag("--json", common.json, "print the result as JSON");
    sub->add_flag("-q,--quiet", common.quiet, "print errors only");
    sub->add_flag("-v,--verbose", common.verbose, "print every decision");
    sub->callback([run_command = command.declare(*sub, common), &chosen] { chosen = run_command; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : static_cast<int>(pare::ErrorKind::usage);
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  try {
    return run(argc, argv);
  } catch (const pare::Error& e) {
    std::fprintf(stderr, "pare: error: %s\n", e.what());
    return static_cast<int>(e.kind());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "pare: error: out of memory\n");
    return static_cast<int>(pare::ErrorKind::system);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "pare: internal error: %s\n", e.what());
    return static_cast<int>(pare::ErrorKind::internal);
  }
}

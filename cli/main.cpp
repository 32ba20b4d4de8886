#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
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

/// CLI11 would complain about a missing subcommand, or explain in several lines.
void check_command(const std::string& name) {
  std::string known;
  for (const Command& command : kCommands) {
    if (name == command.name) return;
    known += (known.empty() ? "" : ", ") + std::string(command.name);
  }
  throw pare::Error(pare::ErrorKind::usage, "'" + name + "' is no command; known are " + known);
}

int run(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') check_command(argv[1]);
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
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    throw pare::Error(pare::ErrorKind::usage, e.what()).fix("see 'pare --help' and 'pare COMMAND --help'");
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  ::setenv("ORT_DISABLE_TELEMETRY", "1", 0);  // ONNX Runtime's wheel reports usage and leaves files behind, unless told not to
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

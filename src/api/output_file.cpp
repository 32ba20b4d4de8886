#include "api/output_file.h"

#include "base/file.h"
#include "pare/error.h"

namespace pare {

void refuse_input_as_output(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs)
    if (!input.empty() && same_file(output, input))
      throw Error(ErrorKind::usage, "is an input too; inputs are never written to").at(output).fix("choose another -o");
}

void check_output(const std::string& output, const std::vector<std::string>& inputs) {
  if (output.empty()) throw Error(ErrorKind::usage, "no output file").fix("give one with -o");
  refuse_input_as_output(output, inputs);
  require_writable(output);
}

void refuse_input_as_output(const std::string& output, const Dataset& data) {
  refuse_input_as_output(output, data.files);
  refuse_input_as_output(output, data.held_out);
}

}  // namespace pare

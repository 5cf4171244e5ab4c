// Turns the advice of findings into commands that can be run.
//
//   ckpt convert IN OUT --step x; or take config.json from the source model
//     command   ckpt convert m m-fixed --step x --for vllm
//     words     take config.json from the source model
//
//   IN     the checkpoint that was diagnosed      BASE   the unquantized model, if known
//   OUT    a free name next to it, as is OUT.gguf
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"
#include "plan/conversion/conversion.h"

namespace ckpt {

struct AdviceTarget {
  std::filesystem::path path;
  std::string base;                   // value of --base; may be empty
  std::vector<std::string> profiles;  // programs for which the result is made
};

// A free name, quoted for a shell: "m-fixed", "q4-fixed.gguf", "m-nvfp4". It is next to `path`, or
// in the current folder if that place is not writable or is a cache. Its extension is `extension`
// or, for a GGUF, that of `path`.
std::string free_name(const std::filesystem::path& path, std::string_view ending,
                      std::string_view extension = {});

// The command at the start of `advice`; empty if there is none.
std::string advised_command(std::string_view advice, const AdviceTarget& on);
// The words of `advice` after the command.
std::string advised_words(std::string_view advice, const AdviceTarget& on);
// The options that advice adds to a conversion that quantizes again ("--keep '*.conv.*'"); else "".
std::string advised_options(std::string_view advice);

// The scales of a quantized source, which decide what commands can make of it.
struct SourceScales {
  bool has_inputs = false;  // of activations, unscaled
  bool has_awq = false;     // of activations scaled by AWQ
};
SourceScales source_scales(const Checkpoint& checkpoint);
// Adds to the `error` of a conversion that needs floats the complete command that makes them.
Error with_command(Error error, const Conversion& conversion, const SourceScales& scales);

// Appends --for with each program to `line`: " --for vllm".
std::string with_profiles(std::string line, const std::vector<std::string>& profiles);

}  // namespace ckpt

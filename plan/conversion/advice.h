// Advice of findings as commands that a person can type.
//
//   ckpt convert IN OUT --step x; or take config.json from the source model
//     command   ckpt convert m m-fixed --step x --for vllm
//     words     take config.json from the source model
//
//   IN     the checkpoint that was diagnosed      BASE   the unquantized model, where it is known
//   OUT    a name next to it that is free; so is OUT.gguf
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
  std::string base;                   // as --base gave it; may be empty
  std::vector<std::string> profiles;  // programs that the result is for
};

// A name that is free, as a word of a shell: "m-fixed", "q4-fixed.gguf", "m-nvfp4"; next to `path`,
// or in the current folder if that place is not writable or is a cache. With `extension`, or that
// of a GGUF.
std::string free_name(const std::filesystem::path& path, std::string_view ending,
                      std::string_view extension = {});

// The command at the start of `advice`; empty if there is none.
std::string advised_command(std::string_view advice, const AdviceTarget& on);
// The rest of it.
std::string advised_words(std::string_view advice, const AdviceTarget& on);
// The options of a command that quantizes again: "--keep '*.conv.*'"; empty for all other advice.
std::string advised_options(std::string_view advice);

// The facts that decide which commands a quantized source takes.
struct SourceScales {
  bool has_inputs = false;  // of activations, as they are
  bool has_awq = false;     // of activations that AWQ scaled
};
SourceScales source_scales(const Checkpoint& checkpoint);
// `error` of a conversion that needs floats, with the complete command that makes them.
Error with_command(Error error, const Conversion& conversion, const SourceScales& scales);

// `line` with a word for each program: " --for vllm".
std::string with_profiles(std::string line, const std::vector<std::string>& profiles);

}  // namespace ckpt

// A folder's headers without its bytes: what to-gguf is run on, to learn what it does with each
// tensor and to prove a configuration.
//
//   config.json ─▶ parameters of the model ─▶ tensors without bytes ─▶ to-gguf ─▶ names, changes
#pragma once

#include "core/model/transform.h"
#include "transforms/to_gguf/model.h"

namespace ckpt {

// The output of to-gguf for a folder, from its headers.
struct Forward {
  Model model;
  std::vector<Tensor> tensors;
};
Result<Forward> run_forward(const Checkpoint& folder, const Context& context);

// The folder that `config` describes: config.json, and a tensor for each parameter that the GGUF
// `file` has the values of; of a family without a whole table of parameters those that rows of
// names give of the file's tensors. Experts are MXFP4 where `config` says so. The bytes are never
// there; reading them fails.
// Fails: kCorrupt: parameters that `file` has no tensor for.
Result<Checkpoint> make_skeleton(const Checkpoint& file, const JsonValue& config,
                                 const Family& family, const Context& context);

// Parameters that checkpoints hold in F32 whatever the type of the others (transformers
// _keep_in_fp32_modules_strict).
bool keeps_f32(std::string_view name);

// Proves that `forward`, made from a folder, has the tensors and keys of `file`; names the first
// that differs. Fails: kUnsupported.
Status check_forward(const Checkpoint& file, const Checkpoint& folder, const Forward& forward);

}  // namespace ckpt

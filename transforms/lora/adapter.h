// A LoRA adapter as files hold it: its tensors by module, each with what it is for, and its
// configuration. Of the folder only adapter_config.json and the weights are read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/transform.h"
#include "transforms/lora/adapter_config.h"
#include "transforms/lora/adapter_key.h"

namespace ckpt {

struct AdapterModule {
  std::string name;  // as the adapter calls it, without prefixes and wrappers
  std::map<AdapterPart, const Tensor*> parts;

  const Tensor* find(AdapterPart part) const {
    const auto found = parts.find(part);
    return found == parts.end() ? nullptr : found->second;
  }
};

struct Adapter {
  std::string path;  // of the weights, for messages
  AdapterConfig config;
  std::vector<Tensor> tensors;
  std::vector<AdapterModule> modules;  // by name; point into `tensors`

  Adapter() = default;
  Adapter(Adapter&&) = default;
  Adapter& operator=(Adapter&&) = default;
};

// Fails: kUsage: no adapter at `folder`; kCorrupt, naming the tensor: an unknown name, two for the
// same place, no values, NaN or Inf; as read_adapter_config.
Result<Adapter> read_adapter(const std::string& folder, const Context& context);
// The same of a checkpoint that is an adapter's folder.
Result<Adapter> adapter_of(const Checkpoint& checkpoint);

}  // namespace ckpt

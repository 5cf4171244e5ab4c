// The options of ckpt::doctor and `ckpt doctor`.
#pragma once

#include <string>
#include <vector>

#include "core/model/format.h"

namespace ckpt {

struct DoctorOptions {
  std::vector<std::string> profiles = {};  // empty: the current release of each program
  std::string base = {};                   // the unquantized model, for fixes that need it
  bool deep = false;                       // also read the tensors
  ReadOptions reading = {};
};

}  // namespace ckpt

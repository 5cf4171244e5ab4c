// The question of ckpt::doctor and `ckpt doctor`.
#pragma once

#include <string>
#include <vector>

#include "core/model/format.h"

namespace ckpt {

struct DoctorOptions {
  std::vector<std::string> profiles = {};  // empty: the current release of each program
  std::string base = {};                   // the unquantized model, for fixes that need it
  bool deep = false;                       // read the tensors too
  ReadOptions reading = {};
};

}  // namespace ckpt

// All parameters that the model class of config.json has, against the tensors that are there;
// private to checks/.
//
// Shapes are those of the values; a quantized tensor is compared by the shape that its codes decode
// to.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

class Examined;
struct Profile;

struct Deviation {
  std::string name;                       // as it is, or would be, in this checkpoint
  std::vector<uint64_t> expected, found;  // `found` is empty where the tensor is missing
  ServerCut cut = ServerCut::kWhole;
  ModelPart part = ModelPart::kText;
  // Missing, but another piece is there of what a server runs as one parameter.
  bool is_partly_there = false;
};

// A tensor that the class has no parameter for.
struct Extra {
  std::string name;
  bool is_bias = false;
  bool is_tower = false;      // of a vision tower
  bool is_in_layer = false;   // of one of the model's layers, or of a layer beyond the last
  bool is_beyond = false;     // of a layer beyond the last
  bool is_of_expert = false;  // below the name of an expert that the model has
  bool is_outermost = false;  // not below "model."
};

struct ParameterReport {
  const Family* table = nullptr;  // of the class; null: no table, nothing was compared
  std::string root = "model.";    // before the names of the text part
  std::string bad_field;          // why the table could not be followed
  bool is_beyond_limits = false;  // `bad_field` is a number larger than any model's
  std::vector<Deviation> missing, wrong;
  std::vector<Extra> extra;
  bool has_nextn = false;          // layers for multi-token prediction behind the last
  bool has_unknown_codes = false;  // some weights are stored in ways whose shape is not known here

  bool is_compared() const { return table != nullptr; }
};

ParameterReport compare_parameters(const Examined& on);

// Why the weights were not compared for this profile; empty when they were.
std::string weights_not_checked(const Examined& on, const Profile& profile);

}  // namespace ckpt

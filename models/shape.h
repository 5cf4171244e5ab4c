// Numbers of a configuration, and shapes made of them; private to models/.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/models.h"

namespace ckpt {

class Fields {
 public:
  // `others` fill in fields that neither config.json nor `defaults` has. With kAll, defaults that
  // only keys use count too.
  Fields(const JsonValue& config, std::span<const ClassDefault> defaults,
         std::span<const ClassDefault> others = {}, ReadBy rows = ReadBy::kShapes)
      : config_(config), defaults_(defaults), others_(others), rows_(rows) {}

  // The value of config.json, else the default of the model's class.
  // Fails: kCorrupt: no whole number of 32 bits, or there is neither.
  Result<uint64_t> count(std::string_view field) const { return count(field, 0); }
  // Returns count(field), or 0 if neither config.json nor the defaults of the class have the field.
  Result<uint64_t> count_or_zero(std::string_view field) const;
  bool is_true(std::string_view field) const;
  // A field may be a list of numbers, one for each layer: the number of `layer` counts; without a
  // layer all must be equal.
  void set_layer(std::optional<uint64_t> layer) { layer_ = layer; }
  std::optional<uint64_t> layer() const { return layer_; }
  const JsonValue& config() const { return config_; }
  // Its value in config.json, under either name where it has two; nullptr if absent or null.
  const JsonValue* declared(std::string_view field) const;

  // Fails: as count; kUnsupported for products beyond 64 bits.
  Result<std::vector<uint64_t>> shape(std::string_view text) const;

 private:
  Result<uint64_t> count(std::string_view field, int depth) const;
  Result<uint64_t> sum(std::string_view text, int depth) const;
  Result<uint64_t> product(std::string_view text, int depth) const;
  Result<uint64_t> factor(std::string_view text, int depth) const;
  Result<uint64_t> operand(std::string_view text, int depth) const;
  // The value that the class gives to a field that is null.
  const ClassDefault* default_of(std::string_view field) const;
  const ClassDefault* find_default(std::string_view field) const;

  const JsonValue& config_;
  std::span<const ClassDefault> defaults_, others_;
  ReadBy rows_;
  std::optional<uint64_t> layer_;
};

// Does what resolve_layers() of resolved.h does, for fields that already have their defaults.
Result<std::vector<ResolvedLayer>> resolve_layers(const Fields& text, const Family& table,
                                                  uint64_t layers);

}  // namespace ckpt

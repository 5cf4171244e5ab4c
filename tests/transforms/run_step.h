// Shared by tests of steps: a checkpoint is opened, a step runs on it, and its result or why it
// failed is checked.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/execute.h"
#include "core/model/plan.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "transforms/transforms.h"

namespace ckpt::step_test {

inline Result<Checkpoint> open(const std::filesystem::path& path) {
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs(), {});
}

inline Result<std::string> text(const std::filesystem::path& path, uint64_t limit_bytes) {
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  return read_text(*source, limit_bytes);
}

inline Options options(std::initializer_list<std::pair<std::string, std::string>> pairs) {
  Options out;
  for (const auto& [key, value] : pairs) out.add(key, value);
  return out;
}

inline Result<Checkpoint> run(std::string_view step, Checkpoint input, const Options& given,
                              std::vector<std::string>* notes = nullptr) {
  return find_transform(step)->apply(
      std::move(input), given, {all_codecs(), nullptr, notes, open, {}, text, low_rank_product});
}

inline void expect_error(const Result<Checkpoint>& made, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(made.has_value()) << part;
  EXPECT_EQ(made.error().code, code) << made.error().text();
  EXPECT_NE(made.error().text().find(part), std::string::npos) << made.error().text();
}

// Aborts when there is none: a test that continues would prove nothing.
inline Tensor& tensor(Checkpoint& checkpoint, std::string_view name) {
  for (Tensor& each : checkpoint.tensors) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << name;
  std::abort();
}
inline const Tensor& tensor(const Checkpoint& checkpoint, std::string_view name) {
  return tensor(const_cast<Checkpoint&>(checkpoint), name);
}

inline std::vector<std::string> names_of(const Checkpoint& checkpoint) {
  std::vector<std::string> out;
  for (const Tensor& tensor : checkpoint.tensors) out.push_back(tensor.name);
  return out;
}

// Writes the checkpoint as a new folder of safetensors, `out`.
inline Status write_folder(Checkpoint checkpoint, const std::filesystem::path& out) {
  CKPT_ASSIGN(Layout layout,
              find_format("safetensors")
                  ->lay_out(checkpoint, {.out_name = out.filename().string()}, all_codecs()));
  Plan plan;
  plan.outputs.push_back({out, std::move(checkpoint), std::move(layout)});
  CKPT_TRY(check(plan));
  CKPT_TRY(execute(plan, {}));
  return {};
}

// A folder for inputs, which have to be there until what is made of them has its name.
inline const TemporaryFolder& kept_folder() {
  static std::deque<TemporaryFolder> all;
  return all.emplace_back();
}

// Written and read again, so that every tensor is Stored; aborts when that fails.
inline Checkpoint settle(Result<Checkpoint> made) {
  if (!made) ADD_FAILURE() << made.error().text();
  CKPT_CHECK(made.has_value());
  const TemporaryFolder& folder = kept_folder();
  const auto written = write_folder(std::move(*made), folder / "out");
  if (!written) ADD_FAILURE() << written.error().text();
  auto read = open(folder / "out");
  if (!read) ADD_FAILURE() << read.error().text();
  CKPT_CHECK(read.has_value());
  return std::move(*read);
}

// A GGUF written and read again: from-gguf takes files that are written.
inline Checkpoint as_gguf_file(Checkpoint file) {
  auto layout = find_format("gguf")->lay_out(file, {.out_name = "model.gguf"}, all_codecs());
  EXPECT_TRUE(layout.has_value()) << layout.error().text();
  Plan plan;
  const auto path = kept_folder() / "model.gguf";
  plan.outputs.push_back({path, std::move(file), std::move(*layout)});
  const auto done = execute(plan, {});
  EXPECT_TRUE(done.has_value()) << done.error().text();
  return open(path).value_or(Checkpoint());
}

}  // namespace ckpt::step_test

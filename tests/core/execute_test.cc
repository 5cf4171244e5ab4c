// The engine on plans made by hand: shared statistics, parts far apart in a file, failing sources.
#include "core/engine/execute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "core/engine/compare.h"
#include "core/model/float_convert.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

// A codec of two parts: one byte a value, and the tensor's largest magnitude.
constexpr PartRule kParts[] = {{"", Dtype::kU8, 1, 1}, {"_amax", Dtype::kF32, 0, 0}};

void scan(ConstFloatRows rows, Stats& stats) {
  for (const float value : rows.values) stats.amax = std::max(stats.amax, std::abs(value));
}

void encode(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  for (size_t i = 0; i < rows.values.size(); ++i) {
    parts[0][i] = static_cast<std::byte>(
        static_cast<int>(std::nearbyint(rows.values[i] / context.stats.amax * 100)) + 128);
  }
  std::memcpy(parts[1].data(), &context.stats.amax, sizeof context.stats.amax);
}

Codec scaled_codec() {
  Codec codec{};
  codec.name = "scaled";
  codec.parts = kParts;
  codec.band_rows = codec.block_values = 1;
  codec.needs_stats = true;
  codec.scan = scan;
  codec.encode = encode;
  return codec;
}

// Fails from its n-th read on.
class FailingSource final : public ByteSource {
 public:
  FailingSource(std::vector<std::byte> bytes, int reads_left)
      : bytes_(std::move(bytes)), reads_left_(reads_left) {}
  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    if (reads_left_-- <= 0) return fail(ErrorCode::kIo, "the disk is on fire");
    std::memcpy(out.data(), bytes_.data() + offset_bytes, out.size());
    return {};
  }
  uint64_t size_bytes() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }

 private:
  std::vector<std::byte> bytes_;
  mutable std::atomic<int> reads_left_;
  std::string name_ = "failing";
};

// A file whose reads take long enough for other threads to wait for them, and then fail.
class LateFailure final : public ByteSource {
 public:
  explicit LateFailure(SharedSource file) : file_(std::move(file)) {}
  Status read(uint64_t /*offset_bytes*/, std::span<std::byte> /*out*/) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return fail(ErrorCode::kIo, "the disk is on fire");
  }
  uint64_t size_bytes() const override { return file_->size_bytes(); }
  const std::string& name() const override { return file_->name(); }
  const FileState* file_state() const override { return file_->file_state(); }

 private:
  SharedSource file_;
};

constexpr uint64_t kRows = 300, kColumns = 64;

std::vector<std::byte> floats(float largest) {
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i % 21) - 10) / 10 * largest;
  }
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Tensor recoded(std::string name, SharedSource source, const Codec& codec) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = {kRows, kColumns};
  tensor.codec = &plain_codec(all_codecs(), Dtype::kF32);
  tensor.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}, {}};
  return recode(std::move(tensor), codec).value();
}

// Two tensors of the codec that share their statistics; scales lie before the codes, as in
// safetensors, so that codes are written long before their turn to be hashed.
Plan make_plan(const std::filesystem::path& out, const Codec& codec, SharedSource a,
               SharedSource b) {
  Plan plan;
  Output& output = plan.outputs.emplace_back();
  output.path = out;
  Tensor first = recoded("a", std::move(a), codec), second = recoded("b", std::move(b), codec);
  std::get<Recoded>(first.origin).peers = {std::make_shared<const Tensor>(second)};
  std::get<Recoded>(second.origin).peers = {std::make_shared<const Tensor>(first)};
  output.checkpoint.tensors = {first, second};
  OutputFile& file = output.layout.files.emplace_back();
  file.path = out.filename().string();
  const uint64_t codes = kRows * kColumns;
  file.extents = {{0, 1, 0, 4}, {1, 1, 4, 4}, {0, 0, 8, codes}, {1, 0, 8 + codes, codes}};
  file.size_bytes = 8 + 2 * codes;
  return plan;
}

// A part that waited for a scan that failed would be encoded with the scale of the other scans, and
// a run that resumes would keep it.
TEST(Execute, NothingIsKeptThatWaitedForAScanThatFailed) {
  const TemporaryFolder folder;
  const Codec codec = scaled_codec();
  const std::vector<std::byte> large = floats(4);
  write_file(folder / "b", {reinterpret_cast<const char*>(large.data()), large.size()});
  const SharedSource a = make_blob("a", floats(1)), b = open_file(folder / "b").value();
  ExecuteOptions options;
  options.threads = 4;
  options.chunk_bytes = 1 << 14;
  options.resume = {true, "test", "ckpt convert"};
  const auto late = std::make_shared<LateFailure>(b);
  ASSERT_FALSE(execute(make_plan(folder / "out", codec, a, late), options));
  const auto resumed = execute(make_plan(folder / "out", codec, a, b), options);
  ASSERT_TRUE(resumed) << resumed.error().text();
  ASSERT_TRUE(execute(make_plan(folder / "whole", codec, a, b), {}));
  EXPECT_EQ(read_file(folder / "out"), read_file(folder / "whole"));
}

TEST(Execute, PeersShareTheLargestMagnitude) {
  const TemporaryFolder folder;
  const Codec codec = scaled_codec();
  std::string expected;
  for (const unsigned threads : {1u, 2u, 9u}) {
    for (const uint64_t memory : {uint64_t{0}, uint64_t{512} << 20}) {
      const Plan plan =
          make_plan(folder / "out", codec, make_blob("a", floats(1)), make_blob("b", floats(4)));
      ExecuteOptions options;
      options.threads = threads;
      options.memory_bytes = memory;
      options.chunk_bytes = 1 << 16;
      options.force = true;
      const auto report = execute(plan, options);
      ASSERT_TRUE(report) << report.error().text();
      const std::string text = read_file(folder / "out");
      float amax[2];
      std::memcpy(amax, text.data(), sizeof amax);
      EXPECT_EQ(amax[0], 4.0f);
      EXPECT_EQ(amax[1], 4.0f);
      EXPECT_EQ(static_cast<uint8_t>(text[8]), 128 - 25);                      // -1 of 4
      EXPECT_EQ(static_cast<uint8_t>(text[8 + kRows * kColumns]), 128 - 100);  // -4 of 4
      EXPECT_EQ(report->files[0].sha256, hash_file(folder / "out").value());
      if (expected.empty()) expected = text;
      EXPECT_EQ(text, expected);
    }
  }
}

TEST(Execute, KnownStatisticsNeedNoScan) {
  const TemporaryFolder folder;
  const Codec codec = scaled_codec();
  Plan plan =
      make_plan(folder / "out", codec, make_blob("a", floats(1)), make_blob("b", floats(4)));
  for (Tensor& tensor : plan.outputs[0].checkpoint.tensors) {
    std::get<Recoded>(tensor.origin).stats = Stats{8.0f};
  }
  const auto report = execute(plan, {});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->read_bytes, 2 * kRows * kColumns * sizeof(float));
  float amax;
  std::memcpy(&amax, read_file(folder / "out").data(), sizeof amax);
  EXPECT_EQ(amax, 8.0f);
}

TEST(Execute, SecondReadingComesFromMemoryWhereItFits) {
  const TemporaryFolder folder;
  const Codec codec = scaled_codec();
  const Plan plan =
      make_plan(folder / "out", codec, std::make_shared<FailingSource>(floats(1), 1'000'000),
                std::make_shared<FailingSource>(floats(4), 1'000'000));
  const uint64_t once = 2 * kRows * kColumns * sizeof(float);
  ExecuteOptions options;
  EXPECT_EQ(execute(plan, options)->read_bytes, once);
  options.memory_bytes = 0;
  options.force = true;
  EXPECT_GE(execute(plan, options)->read_bytes, 2 * once);
}

TEST(Execute, AReadThatFailsAnywhereEndsTheRunAndLeavesNothing) {
  const TemporaryFolder folder;
  const Codec codec = scaled_codec();
  bool succeeded = false;
  for (int reads = 0; reads < 60 && !succeeded; ++reads) {
    const auto a = std::make_shared<FailingSource>(floats(1), reads);
    const Plan plan = make_plan(folder / "out", codec, a, make_blob("b", floats(4)));
    ExecuteOptions options;
    options.threads = 4;
    options.memory_bytes = 0;
    options.chunk_bytes = 1 << 14;
    const auto report = execute(plan, options);
    succeeded = report.has_value();
    if (succeeded) break;
    EXPECT_NE(report.error().text().find("on fire"), std::string::npos) << report.error().text();
    EXPECT_EQ(listing(folder.path()), "");
  }
  EXPECT_TRUE(succeeded);
}

// A folder's worth of one tensor, plain floats of type Element, to nvfp4_modelopt.
template <class Element>
Result<ExecuteReport> make_nvfp4(const std::filesystem::path& out, Dtype dtype,
                                 const std::vector<Element>& values, bool allow_nonfinite) {
  std::vector<std::byte> bytes(values.size() * sizeof(Element));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const SharedSource source = make_blob("a", std::move(bytes));
  Tensor tensor;
  tensor.name = "a";
  tensor.shape = {values.size() / kColumns, kColumns};
  tensor.codec = &plain_codec(all_codecs(), dtype);
  tensor.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}, {}};
  Plan plan;
  Output& output = plan.outputs.emplace_back();
  output.path = out;
  output.checkpoint.tensors = {
      recode(std::move(tensor), *find_codec(all_codecs(), "nvfp4_modelopt")).value()};
  OutputFile& file = output.layout.files.emplace_back();
  file.path = out.filename().string();
  const uint64_t codes = values.size() / 2, scales = values.size() / 16;
  file.extents = {{0, 2, 0, 4}, {0, 0, 4, codes}, {0, 1, 4 + codes, scales}};
  file.size_bytes = 4 + codes + scales;
  ExecuteOptions options;
  options.chunk_bytes = 1 << 16;
  options.memory_bytes = 0;
  options.allow_nonfinite = allow_nonfinite;
  options.force = true;
  return execute(plan, options);
}

TEST(Execute, Bf16GoesItsOwnWayToTheSameBytesAndErrors) {
  const TemporaryFolder folder;
  std::vector<float> values(uint64_t{2000} * kColumns);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = float_from_bf16(bf16_from_float(std::sin(static_cast<float>(i)) * 0.1f));
  }
  const auto halves = [&] {
    std::vector<uint16_t> out;
    for (const float value : values) out.push_back(bf16_from_float(value));
    return out;
  };
  const auto path = folder / "out";
  for (const float bad : {0.0f, NAN, INFINITY, -INFINITY}) {
    values[1503 * kColumns + 41] = bad;
    for (const bool allow : {false, true}) {
      const auto floats_report = make_nvfp4(path, Dtype::kF32, values, allow);
      const std::string expected = floats_report ? read_file(path) : "";
      const auto report = make_nvfp4(path, Dtype::kBF16, halves(), allow);
      ASSERT_EQ(report.has_value(), floats_report.has_value()) << bad;
      ASSERT_EQ(report.has_value(), allow || bad == 0);
      if (report) {
        EXPECT_TRUE(read_file(path) == expected) << bad;
        continue;
      }
      EXPECT_EQ(report.error().text(), floats_report.error().text());
      EXPECT_NE(report.error().text().find("row 1503, column 41"), std::string::npos);
    }
  }
}

TEST(Execute, OverlappingPathsAreRefused) {
  const TemporaryFolder folder;
  const Codec codec = scaled_codec();
  Plan plan =
      make_plan(folder / "out", codec, make_blob("a", floats(1)), make_blob("b", floats(4)));
  plan.outputs[0].layout.is_folder = true;
  plan.outputs[0].layout.files[0].path = "../escaped";
  const auto report = execute(plan, {});
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("leaves the output folder"), std::string::npos);
  EXPECT_EQ(listing(folder.path()), "");
}

}  // namespace
}  // namespace ckpt

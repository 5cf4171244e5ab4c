// Whatever computes bytes of others tells all of its inputs: to the digest of a plan, to a ledger,
// and to those who ask whether an input has changed.
#include "core/computed/computed_source.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "core/chunks/written_source.h"
#include "core/computed/coded_matrix.h"
#include "core/computed/decoded_source.h"
#include "core/computed/interleaved_source.h"
#include "core/computed/joined_source.h"
#include "core/computed/low_rank_source.h"
#include "core/computed/row_change.h"
#include "core/computed/strided_source.h"
#include "core/computed/transposed_source.h"
#include "core/computed/zstd_source.h"
#include "core/engine/execute.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/ends_run.h"
#include "tests/support/files.h"
#include "transforms/modelopt_export/quantized_sources.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;
using Kind = ComputedSource::Kind;

// Makes an input of so many bytes.
using MakeInput = std::function<SharedSource(uint64_t size_bytes)>;

constexpr uint64_t kComputedRows = 2048, kComputedColumns = 256;

Slice whole(const SharedSource& source) { return {source, 0, source->size_bytes()}; }

// A tensor whose parts are in two inputs each.
Tensor in_pieces(const char* codec, std::vector<uint64_t> shape, const MakeInput& input) {
  Tensor out;
  out.name = "t";
  out.shape = std::move(shape);
  out.codec = find_codec(all_codecs(), codec);
  Stored stored;
  for (size_t part = 0; part < out.codec->parts.size(); ++part) {
    const uint64_t size = part_size_bytes(out, part);
    stored.parts.push_back({whole(input(size / 2)), whole(input(size - size / 2))});
  }
  out.origin = std::move(stored);
  return out;
}

Tensor plain(const MakeInput& input) {
  Tensor out;
  out.name = "t";
  out.shape = {kComputedRows, kComputedColumns};
  out.codec = find_codec(all_codecs(), "f32");
  out.origin = Stored{{{whole(input(kComputedRows * kComputedColumns * sizeof(float)))}}};
  return out;
}

SharedSource only_source(const Tensor& tensor) { return tensor.stored().parts[0][0].source; }

Tensor floats(std::vector<uint64_t> shape, const MakeInput& input) {
  Tensor out;
  out.name = "t";
  out.shape = std::move(shape);
  out.codec = find_codec(all_codecs(), "f32");
  out.origin = Stored{{{whole(input(size_bytes(out)))}}};
  return out;
}

SharedSource low_rank(const MakeInput& input) {
  LowRankUpdate update{floats({kComputedRows, 4}, input), floats({4, kComputedColumns}, input)};
  update.magnitudes = floats({kComputedRows}, input);
  return only_source(with_low_rank(plain(input), std::move(update), low_rank_product).value());
}

SharedSource row_change(const MakeInput& input) {
  RowChange scaling;
  scaling.factors = {floats({kComputedRows, kComputedColumns}, input)};
  scaling.apply = [](const RowChange::Held& held, uint64_t first, FloatRows rows) {
    const float* const factor = held.factors[0].data() + first * rows.row_values;
    for (size_t i = 0; i < rows.values.size(); ++i) rows.values[i] *= factor[i];
  };
  return only_source(with_row_change(plain(input), scaling, low_rank_product).value());
}

// Codes with a scale that depends on two tensors.
SharedSource written_codes(const MakeInput& input) {
  const Codec& nvfp4 = *find_codec(all_codecs(), "nvfp4_modelopt");
  Tensor own = recode(plain(input), nvfp4).value(), peer = recode(plain(input), nvfp4).value();
  share_statistics({&own, &peer});
  return only_source(stored_as_written(own));
}

SharedSource coded(const MakeInput& input) {
  CodedMatrix matrix;
  matrix.rows = kComputedRows;
  matrix.columns = kComputedColumns;
  matrix.codes.outer = kComputedRows;
  matrix.codes.inner = kComputedColumns;
  matrix.codes.bytes = whole(input(matrix.codes.size_bytes()));
  matrix.zeros.outer = kComputedRows;
  matrix.zeros.inner = kComputedColumns / 32;
  matrix.zeros.bytes = whole(input(matrix.zeros.size_bytes()));
  matrix.scales = {.bytes = whole(input(kComputedRows * kComputedColumns / 32 * sizeof(float))),
                   .rows = kComputedRows,
                   .columns = kComputedColumns / 32,
                   .tile_columns = 32};
  return std::make_shared<const CodedSource>("t", std::move(matrix));
}

// Makes a source of the kind. The compiler warns about a kind for which there is no case.
SharedSource make_kind(Kind kind, const MakeInput& input) {
  switch (kind) {
    case Kind::kDecoded:
      return std::make_shared<const DecodedSource>(
          whole(input(kComputedRows * kComputedColumns * 2)), *find_codec(all_codecs(), "bf16"));
    case Kind::kDecodedTensor:
      return std::make_shared<const DecodedTensor>(
          in_pieces("mxfp4_ct", {kComputedRows, kComputedColumns}, input));
    case Kind::kTransposed:
      return std::make_shared<const TransposedSource>(
          in_pieces("mxfp4_ct", {4, kComputedRows, kComputedColumns}, input));
    case Kind::kStrided: return only_source(take_every(plain(input), 0, 2).value());
    case Kind::kInterleaved:
      return only_source(
          interleave({{plain(input), 2}, {plain(input), 2}}, {kComputedRows, 2 * kComputedColumns})
              .value());
    case Kind::kJoined: return joined({whole(input(1000)), whole(input(3000))}).source;
    case Kind::kRepacked:
      return repacked_part(in_pieces("mxfp4", {kComputedRows, kComputedColumns}, input),
                           *find_codec(all_codecs(), "mxfp4_ct"), 0);
    case Kind::kCoded: return coded(input);
    case Kind::kMerged: return low_rank(input);
    case Kind::kWritten: return written_codes(input);
    case Kind::kMxfp4BlockAmax:  // codes are read where a block lies below the smallest power
      return std::make_shared<const Mxfp4BlockAmax>(
          in_pieces("mxfp4_ct", {kComputedRows, kComputedColumns}, input),
          Mxfp4BlockAmax::Choice{300, 1});
    case Kind::kZstd: {  // one raw block, whose content is stored
      constexpr uint8_t kFrame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0xe8, 0x02, 0x41, 0x1f, 0};
      const auto start = std::as_bytes(std::span(kFrame));
      const SharedSource frame = make_blob("frame", {start.begin(), start.end()});
      return zstd_content(joined({whole(frame), whole(input(1000))}), 1000);
    }
    case Kind::kCount:
      break;
  }
  return nullptr;
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> out;
  for (int i = 0; i < static_cast<int>(Kind::kCount); ++i) out.push_back(static_cast<Kind>(i));
  return out;
}

// Small numbers: no NaN under any codec.
std::vector<std::byte> bytes_of(uint64_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(size);
  for (std::byte& each : out) each = std::byte(random() % 0x38);
  return out;
}

// Writes down what is read of it.
class RecordingSource final : public ByteSource {
 public:
  RecordingSource(uint64_t size, uint32_t seed) : bytes_(bytes_of(size, seed)) {}
  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    if (offset_bytes > bytes_.size() || out.size() > bytes_.size() - offset_bytes) {
      return corrupt("past the end");
    }
    std::copy_n(bytes_.begin() + static_cast<long>(offset_bytes), out.size(), out.begin());
    read_bytes += out.size();
    return {};
  }
  uint64_t size_bytes() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }
  mutable uint64_t read_bytes = 0;

 private:
  std::vector<std::byte> bytes_;
  std::string name_ = "heard";
};

// The sources that are not in memory and from which all others are computed.
void tell_files(const ByteSource& source, std::set<const ByteSource*>& told) {
  if (source.computed() == nullptr) {
    if (source.memory().empty()) told.insert(&source);
    return;
  }
  source.computed()->each_input([&](const Slice& slice) { tell_files(*slice.source, told); });
}

TEST(ComputedSource, EveryKindTellsEveryInputThatItReads) {
  for (const Kind kind : all_kinds()) {
    std::vector<std::shared_ptr<const RecordingSource>> made;
    const SharedSource source = make_kind(kind, [&](uint64_t size) {
      return made.emplace_back(
          std::make_shared<const RecordingSource>(size, static_cast<uint32_t>(made.size())));
    });
    ASSERT_NE(source->computed(), nullptr);
    EXPECT_EQ(source->computed()->kind(), kind);
    std::set<const ByteSource*> told;
    tell_files(*source, told);
    std::vector<std::byte> all(source->size_bytes());
    ASSERT_TRUE(source->read(0, all));
    for (const auto& input : made) {
      EXPECT_GT(input->read_bytes, 0u) << static_cast<int>(kind);
      EXPECT_TRUE(told.contains(input.get())) << static_cast<int>(kind);
    }
    EXPECT_EQ(told.size(), made.size());
    const bool needs_none = kind == Kind::kJoined;  // it reads its parts to where they belong
    EXPECT_EQ(source->scratch_bytes(1 << 20) == 0, needs_none) << static_cast<int>(kind);
  }
}

TEST(ComputedSource, ChangesOfRowsTellTheirFactors) {
  std::vector<std::shared_ptr<const RecordingSource>> made;
  const SharedSource source = row_change([&](uint64_t size) {
    return made.emplace_back(std::make_shared<const RecordingSource>(size, 1));
  });
  std::set<const ByteSource*> told;
  source->computed()->each_input([&](const Slice& slice) { told.insert(slice.source.get()); });
  std::vector<std::byte> all(source->size_bytes());
  ASSERT_TRUE(source->read(0, all));
  for (const auto& input : made) EXPECT_TRUE(input->read_bytes > 0 && told.contains(input.get()));
  EXPECT_EQ(told.size(), made.size());
}

// ---- killed, and an input is another one before the same is run again ---------------------------

struct RunFiles {
  fs::path folder;
  std::vector<fs::path> inputs;  // in the order in which they were made

  SharedSource make(Kind kind) {
    inputs.clear();
    return make_kind(kind, [this](uint64_t size) {
      const fs::path path = folder / fmt::format("input{}", inputs.size());
      if (!fs::exists(path)) {
        const auto bytes = bytes_of(size, static_cast<uint32_t>(inputs.size()));
        write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      }
      inputs.push_back(path);
      return open_file(path).value();
    });
  }
  // One output file: the source's bytes as they are, and others, so that a run of a small source
  // has a middle that it can be ended in.
  Plan plan(Kind kind) {
    const fs::path rest = folder / "input_of_the_rest";
    if (!fs::exists(rest)) write_file(rest, std::string(1 << 18, 'r'));
    Plan out;
    Output& output = out.outputs.emplace_back();
    output.path = folder / "out";
    OutputFile& file = output.layout.files.emplace_back();
    file.path = "out";
    for (const SharedSource& source : {make(kind), SharedSource(open_file(rest).value())}) {
      const auto number = static_cast<uint32_t>(output.checkpoint.tensors.size());
      Tensor& tensor = output.checkpoint.tensors.emplace_back();
      tensor.name = fmt::format("t{}", number);
      tensor.shape = {source->size_bytes()};
      tensor.codec = find_codec(all_codecs(), "u8");
      tensor.origin = Stored{{{whole(source)}}};
      file.extents.push_back({number, 0, file.size_bytes, source->size_bytes()});
      file.size_bytes += source->size_bytes();
    }
    return out;
  }
};

void change(const fs::path& path) {
  std::string text = read_file(path);
  text.back() = static_cast<char>(text.back() ^ 1);
  const auto before = fs::last_write_time(path);
  write_file(path, text);
  fs::last_write_time(path, before + std::chrono::milliseconds(5));
}

TEST(ComputedSource, DoesNotResumeARunWhenAnInputChanged) {
  for (const Kind kind : all_kinds()) {
    for (size_t i = 0;; ++i) {
      const TemporaryFolder folder;
      RunFiles made{folder.path(), {}};
      EndsRun ender(1);
      ASSERT_FALSE(execute(made.plan(kind), options_for(ender, 1, 1 << 14)))
          << "ended too late: kind " << static_cast<int>(kind);
      if (i == made.inputs.size()) {  // none has changed: it resumes
        EndsRun never(UINT64_MAX);
        const auto report = execute(made.plan(kind), options_for(never));
        ASSERT_TRUE(report) << report.error().text();
        EXPECT_GT(report->resumed_bytes, 0u);
        break;
      }
      change(made.inputs[i]);
      EndsRun never(UINT64_MAX);
      const auto report = execute(made.plan(kind), options_for(never));
      ASSERT_FALSE(report) << "kind " << static_cast<int>(kind) << ", input " << i;
      EXPECT_NE(report.error().text().find("begun before its input changed"), std::string::npos)
          << report.error().text();
      EXPECT_FALSE(fs::exists(folder / "out"));
    }
  }
}

TEST(ComputedSource, ARunIsNotResumedWhenAnInputChangedAndItsTimeWasSetBack) {
  const TemporaryFolder folder;
  RunFiles made{folder.path(), {}};
  EndsRun ender(1), never(UINT64_MAX);
  ASSERT_FALSE(execute(made.plan(all_kinds().front()), options_for(ender, 1, 1 << 14)));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // ticks of the system's clock
  const auto time = fs::last_write_time(made.inputs[0]);
  change(made.inputs[0]);
  fs::last_write_time(made.inputs[0], time);
  const auto report = execute(made.plan(all_kinds().front()), options_for(never));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("its time set back"), std::string::npos)
      << report.error().text();
}

// ---- an input is written to while it is read ----------------------------------------------------

TEST(ComputedSource, ARunOfAnyKindGivesNoNameWhenAnyInputChangedMeanwhile) {
  for (const Kind kind : all_kinds()) {
    for (size_t i = 0, count = 1; i < count; ++i) {
      const TemporaryFolder folder;
      RunFiles made{folder.path(), {}};
      const Plan plan = made.plan(kind);
      count = made.inputs.size();
      EndsRun ender(UINT64_MAX);
      ender.at_end = [&] { change(made.inputs[i]); };
      const auto report = execute(plan, options_for(ender));
      ASSERT_FALSE(report) << "kind " << static_cast<int>(kind) << ", input " << i;
      EXPECT_EQ(report.error().code, ErrorCode::kCorrupt);
      EXPECT_NE(report.error().text().find("was written to while it was read"), std::string::npos)
          << report.error().text();
      for (const auto& entry : fs::directory_iterator(folder.path())) {
        EXPECT_TRUE(entry.path().filename().string().starts_with("input")) << entry.path();
      }
    }
  }
}

}  // namespace
}  // namespace ckpt

// A run that was ended at any moment resumes: the same bytes, less work; and never with anything
// that another command or other inputs have made.
#include <fstream>
#include <functional>

#include "core/engine/compare.h"
#include "core/outputs/file_writer.h"
#include "core/resume/ledger.h"
#include "tests/pipeline/ends_run.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Conversion to_gguf(const fs::path& out, const std::string& type = "q4_k_m") {
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = out;
  conversion.to = type;
  return conversion;
}

Conversion to_nvfp4(const fs::path& out) {
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = out;
  conversion.to = "nvfp4-w4a16";
  return conversion;
}

// Runs again and again, each a bit further and differently, until it is done.
uint64_t finish_in_pieces(const Conversion& conversion, uint64_t step_bytes) {
  uint64_t resumed = 0;
  uint64_t seed = 1;
  for (uint64_t limit = 0;; limit += step_bytes) {
    EndsRun ender(limit);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto options = options_for(ender, static_cast<unsigned>(1 + seed % 5),
                                     uint64_t{1} << (14 + (seed >> 32) % 6));
    const auto report = run(conversion, options);
    if (report) return std::max(resumed, report->resumed_bytes);
    EXPECT_EQ(report.error().code, ErrorCode::kInterrupted) << report.error().text();
    EXPECT_FALSE(fs::exists(conversion.out));
    if (testing::Test::HasFailure()) return 0;
  }
}

void expect_same_files(const fs::path& a, const fs::path& b) {
  if (!fs::is_directory(a)) {
    EXPECT_EQ(hash_file(a).value(), hash_file(b).value()) << b;
    return;
  }
  ASSERT_EQ(listing(a), listing(b));
  for (const auto& entry : fs::directory_iterator(a)) {
    expect_same_files(entry.path(), b / entry.path().filename());
  }
}

// ---- the same bytes ----------------------------------------------------------------------------

struct Case {
  const char* name;
  std::function<Conversion(const fs::path&)> make;
};

class ResumeCase : public testing::TestWithParam<Case> {};

TEST_P(ResumeCase, EndedAtManyPointsItGivesTheSameBytes) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "undisturbed");
  fs::create_directories(folder / "ended");
  ASSERT_TRUE(run(GetParam().make(folder / "undisturbed")));
  for (const uint64_t step : {uint64_t{70'000}, uint64_t{900'000}}) {
    Conversion conversion = GetParam().make(folder / "ended");
    EXPECT_GT(finish_in_pieces(conversion, step), 0u);
    expect_same_files(folder / "undisturbed", folder / "ended");
    fs::remove_all(folder / "ended");
    fs::create_directories(folder / "ended");
  }
}

Conversion shards(const fs::path& folder) {
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = folder / "out";
  conversion.shard_bytes = 1'000'000;
  return conversion;
}

Conversion several(const fs::path& folder) {
  Conversion conversion = to_nvfp4(folder / "out");
  conversion.also = {{folder / "a.gguf", "q4_k_m"}, {folder / "b", "bf16"}};
  return conversion;
}

// llama-micro as GGUF or NVFP4, made next to `folder` once.
fs::path quantized_base(const fs::path& folder, const std::string& name, const std::string& type) {
  Conversion conversion;
  conversion.in = testdata("llama-micro");
  conversion.out = folder.parent_path() / name;
  conversion.to = type;
  if (!fs::exists(conversion.out)) {
    EXPECT_TRUE(run(conversion));
  }
  return conversion.out;
}

Conversion merged(const fs::path& base, const fs::path& out, const std::string& to = "") {
  Conversion conversion;
  conversion.in = base;
  conversion.out = out;
  conversion.to = to;
  conversion.steps = {"lora:from=" + testdata("lora/rslora").string()};
  return conversion;
}

Conversion merged_gguf(const fs::path& folder) {
  return merged(quantized_base(folder, "base.gguf", "q4_k_m"), folder / "out.gguf");
}

Conversion merged_into_another_type(const fs::path& folder) {
  return merged(quantized_base(folder, "base.gguf", "q4_k_m"), folder / "out.gguf", "q6_k");
}

Conversion merged_nvfp4(const fs::path& folder) {
  return merged(quantized_base(folder, "base", "nvfp4-w4a16"), folder / "out");
}

INSTANTIATE_TEST_SUITE_P(
    , ResumeCase,
    testing::Values(Case{"gguf", [](const fs::path& folder) { return to_gguf(folder / "a.gguf"); }},
                    Case{"nvfp4", [](const fs::path& folder) { return to_nvfp4(folder / "out"); }},
                    Case{"shards", shards}, Case{"also", several},
                    Case{"merged_gguf", merged_gguf},
                    Case{"merged_into_another_type", merged_into_another_type},
                    Case{"merged_nvfp4", merged_nvfp4}),
    [](const auto& one) { return one.param.name; });

TEST(Resume, ALedgerTornAnywhereGivesTheSameBytes) {
  const TemporaryFolder folder;
  const std::string expected = digest_of(to_gguf(folder / "expected.gguf"));
  const fs::path out = folder / "out.gguf", partial = folder / "out.gguf.partial";
  EndsRun first(1'500'000);
  ASSERT_FALSE(run(to_gguf(out), options_for(first)));
  const std::string ledger = read_file(partial.string() + ".ledger");
  const std::string bytes = read_file(partial);
  ASSERT_GT(ledger.size(), 200u);
  for (size_t size = 0; size <= ledger.size(); size += ledger.size() / 25) {
    write_file(partial, bytes);
    write_file(partial.string() + ".ledger", ledger.substr(0, size));
    EndsRun ender(UINT64_MAX);
    const auto report = run(to_gguf(out), options_for(ender));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->files[0].sha256, expected);
    EXPECT_EQ(hash_file(out).value(), expected);
    fs::remove(out);
    EXPECT_EQ(listing(folder.path()), "expected.gguf\n");
  }
}

// Bytes hashed by an earlier run are not read back: the digest is that of the plan, whatever has
// become of those on the disk. A piece that lies across the end of it is hashed from there on.
TEST(Resume, ResumesAHashWhereItEnded) {
  const TemporaryFolder folder;
  const std::string expected = digest_of(to_gguf(folder / "expected.gguf"));
  const std::string content = read_file(folder / "expected.gguf");
  constexpr size_t kChanged = kHeadBytes;  // the first byte that is on disk before the end
  for (const size_t hashed_bytes : {kChanged + 1, size_t{640}, size_t{1'000'003}, content.size()}) {
    const fs::path out = folder / "out.gguf", partial = folder / "out.gguf.partial";
    EndsRun first(1'500'000);
    ASSERT_FALSE(run(to_gguf(out), options_for(first)));
    Sha256 sha256;
    sha256.add(std::as_bytes(std::span(content).first(hashed_bytes)));
    {
      auto ledger = Ledger::open(partial.string() + ".ledger");
      ASSERT_TRUE(ledger);
      const auto found = ledger->read();
      ASSERT_TRUE(found && *found);
      ASSERT_TRUE(ledger->continue_after(**found));
      ASSERT_TRUE(
          ledger->append(fmt::format("hashed 0 0 {} {}\n", hashed_bytes, sha256.state().text)));
    }
    std::fstream(partial, std::ios::in | std::ios::out | std::ios::binary).seekp(kChanged)
        << static_cast<char>(~content[kChanged]);
    EndsRun second(UINT64_MAX);
    const auto report = run(to_gguf(out), options_for(second, 3, 1 << 15));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_GT(report->resumed_bytes, 0u);
    EXPECT_EQ(report->files[0].sha256, expected) << hashed_bytes;
    fs::remove(out);
  }
}

TEST(Resume, AFileThatIsGoneIsMadeAgain) {
  const TemporaryFolder folder;
  ASSERT_TRUE(run(shards(folder.path())));
  fs::rename(folder / "out", folder / "expected");
  EndsRun first(2'500'000);
  ASSERT_FALSE(run(shards(folder.path()), options_for(first)));
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(folder / "out.partial")) {
    if (entry.path().extension() == ".safetensors") parts.push_back(entry.path());
  }
  std::sort(parts.begin(), parts.end());
  ASSERT_GE(parts.size(), 2u);
  fs::remove(parts[0]);
  write_file(parts[1], "short");
  EndsRun ender(UINT64_MAX);
  ASSERT_TRUE(run(shards(folder.path()), options_for(ender)));
  expect_same_files(folder / "expected", folder / "out");
}

// Killed when one output had its name and the other not yet: nothing is computed again.
TEST(Resume, BetweenTwoNames) {
  const TemporaryFolder folder;
  Conversion conversion = several(folder.path());
  conversion.also = {{folder / "a.gguf", "q4_k_m"}};
  conversion.force = true;
  EndsRun first(UINT64_MAX);
  first.at_end = [&] { fs::create_directories(folder / "a.gguf" / "in the way"); };
  ASSERT_FALSE(run(conversion, options_for(first)));
  EXPECT_TRUE(fs::exists(folder / "out" / "model.safetensors"));
  fs::remove_all(folder / "a.gguf");
  conversion.force = false;
  EndsRun second(UINT64_MAX);
  const auto report = run(conversion, options_for(second));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->read_bytes, 0u);
  for (const FileReport& file : report->files) {
    EXPECT_EQ(file.sha256, hash_file(file.path).value()) << file.path;
  }
  EXPECT_EQ(listing(folder.path()).find("partial"), std::string::npos) << listing(folder.path());
}

// Killed after OUT was exchanged and before what it replaced was removed.
TEST(Resume, KeepsOtherFilesOfAReplacedFolder) {
  const TemporaryFolder folder;
  Conversion conversion = several(folder.path());
  conversion.also = {{folder / "a.gguf", "q4_k_m"}};
  conversion.force = true;
  ASSERT_TRUE(run(conversion));
  fs::copy(folder / "out", folder / "before");
  EndsRun first(UINT64_MAX);
  first.at_end = [&] {
    fs::remove(folder / "a.gguf");
    fs::create_directories(folder / "a.gguf" / "in the way");
  };
  ASSERT_FALSE(run(conversion, options_for(first)));
  fs::rename(folder / "before", folder / "out.partial");
  write_file(folder / "out.partial" / "notes.txt", "precious");
  fs::remove_all(folder / "a.gguf");
  EXPECT_NE(error_of(conversion).find("it holds notes.txt"), std::string::npos);
  EXPECT_EQ(read_file(folder / "out.partial" / "notes.txt"), "precious");
  EXPECT_TRUE(fs::exists(folder / "out.partial" / "model.safetensors"));
  fs::rename(folder / "out.partial" / "notes.txt", folder / "notes.txt");
  EndsRun second(UINT64_MAX);
  const auto report = run(conversion, options_for(second));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->read_bytes, 0u);
  EXPECT_EQ(listing(folder.path()).find("partial"), std::string::npos) << listing(folder.path());
}

// ---- runs that cannot be resumed ---------------------------------------------------------------

struct StartedRun {
  TemporaryFolder folder;
  Conversion conversion;
  StartedRun() {
    fs::copy(testdata("qwen35-micro"), folder / "in");
    conversion = to_gguf(folder / "out.gguf");
    conversion.in = folder / "in";
    EndsRun ender(1'500'000);
    EXPECT_FALSE(run(conversion, options_for(ender)));
    EXPECT_TRUE(fs::exists(folder / "out.gguf.partial.ledger"));
  }
  std::string error(const std::string& command = "ckpt convert") {
    EndsRun ender(UINT64_MAX);
    ExecuteOptions options = options_for(ender);
    options.resume.command = command;
    return error_of(conversion, options);
  }
};

TEST(Resume, AnotherCommandIsRefused) {
  StartedRun begun;
  begun.conversion.to = "q8_0";
  const std::string error = begun.error("ckpt convert --to q8_0");
  EXPECT_NE(error.find("begun by another command: ckpt convert. "), std::string::npos) << error;
  EXPECT_NE(error.find("--force"), std::string::npos) << error;
  begun.conversion.to = "q4_k_m";
  EXPECT_EQ(begun.error(), "no error");
}

TEST(Resume, ForceStartsOver) {
  StartedRun begun;
  begun.conversion.to = "q8_0";
  begun.conversion.force = true;
  EXPECT_EQ(begun.error("ckpt convert --to q8_0"), "no error");
  const std::string made = hash_file(begun.conversion.out).value();
  begun.conversion.out = begun.folder / "expected.gguf";
  EXPECT_EQ(made, digest_of(begun.conversion));
}

TEST(Resume, AnInputThatWasWrittenToIsNoticed) {
  StartedRun begun;
  const fs::path weights = begun.folder / "in" / "model.safetensors";
  fs::last_write_time(weights, fs::last_write_time(weights) + std::chrono::nanoseconds(1000));
  const std::string error = begun.error();
  EXPECT_NE(error.find("in/model.safetensors was written to in between"), std::string::npos)
      << error;
}

TEST(Resume, AnInputThatIsAnotherFileIsNoticed) {
  StartedRun begun;
  const fs::path weights = begun.folder / "in" / "model.safetensors";
  const auto time = fs::last_write_time(weights);
  fs::copy(weights, begun.folder / "copy");
  fs::rename(begun.folder / "copy", weights);
  fs::last_write_time(weights, time);
  EXPECT_NE(begun.error().find("is another file than it was"), std::string::npos);
}

TEST(Resume, ADocumentThatChangedIsNoticed) {
  StartedRun begun;
  begun.conversion.flags.add("model-name", "another name");
  EXPECT_NE(begun.error().find("planned something else"), std::string::npos);
}

TEST(Resume, AnAdapterThatChangedIsNoticed) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "made");
  const fs::path adapter = folder / "adapter", weights = adapter / "adapter_model.safetensors";
  const auto resumed = [&](const std::function<void()>& change) {
    fs::remove_all(adapter);
    fs::copy(testdata("lora/rslora"), adapter);
    fs::permissions(adapter, fs::perms::owner_all);
    Conversion conversion = merged_gguf(folder / "made");
    conversion.steps = {"lora:from=" + adapter.string()};
    EndsRun first(300'000), second(UINT64_MAX), third(UINT64_MAX);
    const auto ended = run(conversion, options_for(first));
    EXPECT_TRUE(!ended && ended.error().code == ErrorCode::kInterrupted);
    change();
    const std::string error = error_of(conversion, options_for(second));
    conversion.force = true;
    EXPECT_TRUE(error == "no error" || error_of(conversion, options_for(third)) == "no error");
    fs::remove(conversion.out);
    return error;
  };
  EXPECT_EQ(resumed([] {}), "no error");
  const std::string touched = resumed([&] {
    fs::last_write_time(weights, fs::last_write_time(weights) + std::chrono::nanoseconds(1000));
  });
  EXPECT_NE(touched.find("adapter_model.safetensors was written to"), std::string::npos) << touched;
  const std::string replaced = resumed([&] {
    fs::copy(weights, adapter / "copy");
    fs::rename(adapter / "copy", weights);
  });
  EXPECT_NE(replaced.find("adapter_model.safetensors"), std::string::npos) << replaced;
  const std::string scaled = resumed([&] {
    const fs::path config = adapter / "adapter_config.json";
    std::string text = read_file(config);
    const std::string alpha = "\"lora_alpha\": 16";
    const size_t at = text.find(alpha);
    ASSERT_NE(at, text.npos);
    text.replace(at, alpha.size(), "\"lora_alpha\": 15");
    fs::permissions(config, fs::perms::owner_all);
    write_file(config, text);
  });
  EXPECT_NE(scaled.find("planned something else"), std::string::npos) << scaled;
}

TEST(Resume, AProgramAtWorkIsNotDisturbed) {
  StartedRun begun;
  {
    const auto held = Ledger::open(begun.folder / "out.gguf.partial.ledger");
    ASSERT_TRUE(held);
    EXPECT_NE(begun.error().find("another ckpt is at work"), std::string::npos);
  }
  EXPECT_EQ(begun.error(), "no error");
}

TEST(Resume, LeftoversWithoutALedgerAreNotTouched) {
  const TemporaryFolder folder;
  write_file(folder / "out.gguf.partial", "what is this");
  EXPECT_NE(error_of(to_gguf(folder / "out.gguf")).find("no ledger"), std::string::npos);
  EXPECT_EQ(read_file(folder / "out.gguf.partial"), "what is this");
}

TEST(Resume, LeftoversWithALedgerThatSaysNothingAreReplacedAndSaidSo) {
  const TemporaryFolder folder;
  write_file(folder / "out.gguf.partial", "what is this");
  write_file(folder / "out.gguf.partial.ledger", "");
  EndsRun ender(UINT64_MAX);
  const auto report = run(to_gguf(folder / "out.gguf"), options_for(ender));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->resumed_bytes, 0u);
  EXPECT_NE(ender.notes.find("starting over"), std::string::npos) << ender.notes;
  EXPECT_EQ(listing(folder.path()), "out.gguf\n");
}

TEST(Resume, ALedgerThatSaysNothingStaysWithThePartialFile) {
  const TemporaryFolder folder;
  write_file(folder / "out.gguf.partial", "what is this");
  write_file(folder / "out.gguf.partial.ledger", "");
  const auto planned = plan_conversion(to_gguf(folder / "out.gguf"));
  ASSERT_TRUE(planned) << planned.error().text();
  write_file(folder / "out.gguf", "precious");
  EndsRun ender(UINT64_MAX);
  EXPECT_FALSE(execute(planned->plan, options_for(ender)));
  EXPECT_EQ(read_file(folder / "out.gguf"), "precious");
  fs::remove(folder / "out.gguf");
  EXPECT_EQ(error_of(to_gguf(folder / "out.gguf"), options_for(ender)), "no error");
}

TEST(Resume, AnOutThatAppearedInBetweenStaysAndSoDoesTheLedger) {
  StartedRun begun;
  write_file(begun.conversion.out, "precious");
  EXPECT_NE(begun.error().find("exists already"), std::string::npos);
  EXPECT_EQ(read_file(begun.conversion.out), "precious");
  fs::remove(begun.conversion.out);
  EndsRun ender(UINT64_MAX);
  const auto report = run(begun.conversion, options_for(ender));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_GT(report->resumed_bytes, 0u);
}

// Data that cannot be converted will not be better the next time.
TEST(Resume, ErrorsInTheDataLeaveNothing) {
  const TemporaryFolder folder;
  fs::copy(testdata("qwen35-micro"), folder / "in");
  const fs::path weights = folder / "in" / "model.safetensors";
  {
    std::fstream stream(weights, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(-2, std::ios::end);
    stream.write("\xC0\x7F", 2);
  }
  Conversion conversion = to_gguf(folder / "out.gguf");
  conversion.in = folder / "in";
  EndsRun ender(UINT64_MAX);
  EXPECT_NE(error_of(conversion, options_for(ender)).find("NaN"), std::string::npos);
  fs::remove_all(folder / "in");
  EXPECT_EQ(listing(folder.path()), "");
}

}  // namespace
}  // namespace ckpt

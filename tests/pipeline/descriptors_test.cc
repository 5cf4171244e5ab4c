// Without free descriptors from any moment on: the error says so, whatever was made is removed or
// can be resumed, and the same command works afterwards.
#include <functional>

#include "tests/pipeline/ends_run.h"
#include "tests/pipeline/pipeline.h"
#include "tests/support/limited_descriptors.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Conversion llama_to(const fs::path& out, const char* type) {
  Conversion conversion;
  conversion.in = testdata("llama-micro");
  conversion.out = out;
  conversion.to = type;
  return conversion;
}

using Job = std::function<Result<ExecuteReport>()>;

// Runs it with more and more descriptors, and each time again with enough of them, until it ends
// well with few. Returns how often it failed.
unsigned fail_without_descriptors(const Job& job, const std::function<void()>& clear) {
  constexpr unsigned kMost = 64;
  for (unsigned count = 0; count < kMost; ++count) {
    Result<ExecuteReport> report = fail(ErrorCode::kIo, "not run");
    {
      const LimitedDescriptors few(count);
      report = job();
    }
    if (report) return count;
    const std::string error = report.error().text();
    EXPECT_NE(error.find("Too many open files"), error.npos) << count << ": " << error;
    EXPECT_EQ(error.find("another ckpt"), error.npos) << count << ": " << error;
    report = job();
    EXPECT_TRUE(report) << "after " << count << ": " << error << "\n" << report.error().text();
    if (testing::Test::HasFailure()) return 0;
    clear();
  }
  return kMost;
}

void expect_same_command_works(const Conversion& conversion, bool resumes) {
  const fs::path folder = conversion.out.parent_path();
  const auto planned = plan_conversion(conversion);
  ASSERT_TRUE(planned) << planned.error().text();
  const auto job = [&] {
    EndsRun ender(UINT64_MAX);
    ExecuteOptions options = options_for(ender, 1);
    options.resume.enabled = resumes;
    return execute(planned->plan, options);
  };
  const auto clear = [&] {
    EXPECT_EQ(listing(folder).find("partial"), std::string::npos) << listing(folder);
    for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
  };
  EXPECT_GT(fail_without_descriptors(job, clear), 2u);
}

TEST(Descriptors, AFile) {
  const TemporaryFolder folder;
  expect_same_command_works(llama_to(folder / "out.gguf", "q8_0"), true);
}

TEST(Descriptors, AFolderOfShards) {
  const TemporaryFolder folder;
  Conversion conversion = llama_to(folder / "out", "bf16");
  conversion.shard_bytes = 200'000;
  expect_same_command_works(conversion, true);
}

TEST(Descriptors, SeveralOutputs) {
  for (const bool resumes : {true, false}) {
    const TemporaryFolder folder;
    Conversion conversion = llama_to(folder / "out", "nvfp4-w4a16");
    conversion.also = {{folder / "a.gguf", "q8_0"}, {folder / "b", "bf16"}};
    expect_same_command_works(conversion, resumes);
  }
}

TEST(Descriptors, AShare) {
  const TemporaryFolder folder;
  Conversion conversion = llama_to(folder / "out", "nvfp4-w4a16");
  conversion.also = {{folder / "a.gguf", "q8_0"}};
  const auto planned = plan_conversion(conversion);
  ASSERT_TRUE(planned) << planned.error().text();
  const auto share = [&](uint32_t number) {
    EndsRun ender(UINT64_MAX);
    ExecuteOptions options = options_for(ender, 1);
    options.resume.share_number = number;
    options.resume.share_count = 2;
    return execute_share(planned->plan, options);
  };
  const auto finish = [&] {
    const auto report = share(2);
    EXPECT_TRUE(report) << report.error().text();
    EXPECT_EQ(listing(folder.path()).find("partial"), std::string::npos) << listing(folder.path());
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry.path());
  };
  EXPECT_GT(fail_without_descriptors([&] { return share(1); }, finish), 2u);
}

}  // namespace
}  // namespace ckpt

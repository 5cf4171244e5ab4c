// Shares of a plan: together they give the bytes of one run, in any order, twice, at once, on
// machines that cut tasks differently.
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "core/chunks/tasks.h"
#include "core/engine/compare.h"
#include "core/engine/execute.h"
#include "core/io/folder.h"
#include "core/outputs/place.h"
#include "core/resume/ledger_files.h"
#include "tests/pipeline/ends_run.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Conversion make(const fs::path& folder) {
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = folder / "out";
  conversion.to = "nvfp4-w4a16";
  conversion.shard_bytes = 700'000;
  conversion.also = {{folder / "a.gguf", "q4_k_m"}};
  return conversion;
}

ExecuteOptions options_for(uint32_t number, uint32_t count, unsigned threads = 2) {
  ExecuteOptions options;
  options.threads = threads;
  options.chunk_bytes = uint64_t{1} << (15 + number % 3);  // each machine its own
  options.resume = {true, "test", "ckpt execute", number, count, 0};
  return options;
}

Result<ExecuteReport> run_share(const Conversion& conversion, const ExecuteOptions& options) {
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(conversion));
  return execute_share(planned.plan, options);
}

struct Shares : testing::Test {
  TemporaryFolder folder;
  Conversion conversion;
  std::string expected, expected_also;
  void SetUp() override {
    fs::create_directories(folder / "alone");
    ASSERT_TRUE(run(make(folder / "alone")));
    fs::create_directories(folder / "shared");
    conversion = make(folder / "shared");
  }
  void expect_made() {
    const fs::path alone = folder / "alone", shared = folder / "shared";
    ASSERT_EQ(listing(shared), listing(alone));
    for (const auto& entry : fs::recursive_directory_iterator(alone)) {
      if (!entry.is_regular_file()) continue;
      const fs::path other = shared / fs::relative(entry.path(), alone);
      EXPECT_EQ(hash_file(entry.path()).value(), hash_file(other).value()) << other;
    }
  }
};

TEST_F(Shares, InAnyOrderTheLastOneEndsIt) {
  for (const uint32_t number : {3u, 1u, 4u}) {
    const auto report = run_share(conversion, options_for(number, 4));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_FALSE(fs::exists(conversion.out));
    EXPECT_FALSE(report->missing_shares.empty());
    EXPECT_EQ(report->missing_shares.size(), number == 3 ? 3u : number == 1 ? 2u : 1u);
  }
  const auto report = run_share(conversion, options_for(2, 4));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->missing_shares.empty());
  for (const FileReport& file : report->files) {
    EXPECT_EQ(file.sha256, hash_file(file.path).value()) << file.path;
  }
  expect_made();
}

TEST_F(Shares, OneThatComesTwiceOrTooLateDoesNoHarm) {
  ASSERT_TRUE(run_share(conversion, options_for(1, 2)));
  const auto again = run_share(conversion, options_for(1, 2));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->missing_shares, std::vector<uint32_t>{2});
  EXPECT_EQ(again->read_bytes, 0u);  // nothing is done again
  ASSERT_TRUE(run_share(conversion, options_for(2, 2)));
  expect_made();
  const auto late = run_share(conversion, options_for(1, 2));
  ASSERT_TRUE(late) << late.error().text();
  EXPECT_TRUE(late->was_made);
  expect_made();
}

TEST_F(Shares, AllAtOnceEachTwice) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> programs;
    std::atomic<int> made{0}, failed{0};
    for (uint32_t i = 0; i < 6; ++i) {
      programs.emplace_back([&, i] {
        const auto report = run_share(conversion, options_for(1 + i % 3, 3, 1));
        if (!report) {
          ADD_FAILURE() << report.error().text();
          ++failed;
        } else if (report->missing_shares.empty()) {
          ++made;
        }
      });
    }
    for (std::thread& program : programs) program.join();
    EXPECT_EQ(failed, 0);
    EXPECT_GE(made, 1);
    expect_made();
    fs::remove_all(folder / "shared");
    fs::create_directories(folder / "shared");
  }
}

TEST_F(Shares, AShareOfAnotherPlanIsRefused) {
  ASSERT_TRUE(run_share(conversion, options_for(1, 2)));
  Conversion other = conversion;
  other.to = "bf16";
  const auto report = run_share(other, options_for(2, 2));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("begun by"), std::string::npos) << report.error().text();
  ASSERT_TRUE(run_share(conversion, options_for(2, 2)));
  expect_made();
}

// Whichever run ends the plan writes the first bytes of its files; until then they are not there.
TEST_F(Shares, FilesHaveNoHeadUntilAllAreDone) {
  for (const uint32_t number : {1u, 2u}) {
    ASSERT_TRUE(run_share(conversion, options_for(number, 3)));
    for (const auto& entry : fs::recursive_directory_iterator(folder / "shared")) {
      const std::string name = entry.path().string();
      if (!name.ends_with(".safetensors") && !name.ends_with(".gguf.partial")) continue;
      EXPECT_EQ(read_file(entry.path()).substr(0, 8), std::string(8, 0)) << name;
    }
  }
  ASSERT_TRUE(run_share(conversion, options_for(3, 3)));
  expect_made();
}

// Bytes that a machine reported as written are gone: they are written again.
TEST_F(Shares, PartialFilesThatAreGone) {
  ASSERT_TRUE(run_share(conversion, options_for(1, 2)));
  fs::remove_all(folder / "shared" / "out.partial");
  const auto second = run_share(conversion, options_for(2, 2));
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->missing_shares, std::vector<uint32_t>{1});
  ASSERT_TRUE(run_share(conversion, options_for(1, 2)));
  expect_made();
}

// A file that was removed and made again often has the inode's number of the old one.
TEST_F(Shares, AFileOfTheSameNumberIsAnother) {
  const auto planned = plan_conversion(conversion);
  ASSERT_TRUE(planned);
  ASSERT_TRUE(execute_share(planned->plan, options_for(1, 2)));
  const Output& output = planned->plan.outputs[0];
  const fs::path path = partial_path(output, output.layout.files[0]);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  const uint64_t birth = birth_ns(path);
  const auto believed = [&](uint64_t inode, uint64_t its_birth) {
    return is_same_partial(planned->plan, {LedgerEntry::Kind::kFile, {0, 0, inode, its_birth}, {}})
        .value();
  };
  EXPECT_TRUE(believed(status.st_ino, birth));
  EXPECT_TRUE(believed(status.st_ino, 0)) << "a machine that was not told";
  EXPECT_FALSE(believed(status.st_ino + 1, birth));
  if (birth == 0) GTEST_SKIP() << "this file system keeps no births";
  EXPECT_FALSE(believed(status.st_ino, birth + 1));
}

TEST_F(Shares, AWholeRunTakesOverWhatSharesHaveDone) {
  ASSERT_TRUE(run_share(conversion, options_for(2, 3)));
  ExecuteOptions whole = options_for(0, 0);
  const auto report = run(conversion, whole);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_GT(report->resumed_bytes, 0u);
  expect_made();
}

// Their temporary files are there, and other shares may use them.
TEST_F(Shares, OneThatIsInterruptedBeforeItHasDoneAnythingIsInNobodysWay) {
  const std::atomic<bool> stop{true};
  ExecuteOptions early = options_for(1, 2);
  early.interrupted = &stop;
  const auto interrupt = [&] {
    const auto ended = run_share(conversion, early);
    EXPECT_TRUE(!ended && ended.error().code == ErrorCode::kInterrupted);
  };
  interrupt();
  ASSERT_TRUE(run(conversion, options_for(0, 0)));
  expect_made();
  fs::remove_all(folder / "shared");
  fs::create_directories(folder / "shared");
  interrupt();
  for (const uint32_t number : {2u, 1u}) {
    const auto report = run_share(conversion, options_for(number, 2));
    ASSERT_TRUE(report) << report.error().text();
  }
  expect_made();
}

TEST_F(Shares, OneWhoseInputChangesIsInNobodysWay) {
  const fs::path weights = folder / "in" / "model.safetensors";
  fs::copy(testdata("qwen35-micro"), folder / "in");
  fs::permissions(weights, fs::perms::owner_all);
  conversion.in = folder / "in";
  EndsRun ender(UINT64_MAX);
  ender.at_end = [&] {
    fs::last_write_time(weights, fs::last_write_time(weights) + std::chrono::seconds(1));
  };
  ExecuteOptions disturbed = options_for(1, 2);
  disturbed.progress = &ender;
  ASSERT_FALSE(run_share(conversion, disturbed));
  const auto again = run_share(conversion, options_for(1, 2));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_GT(again->read_bytes, 0u);  // of what was made of the other input, nothing counts
  ASSERT_TRUE(run_share(conversion, options_for(2, 2)));
  EXPECT_TRUE(fs::exists(conversion.out));
}

TEST_F(Shares, DoNotTreatAnEarlierOutputAsTheirOwn) {
  ASSERT_TRUE(run(conversion));
  ExecuteOptions options = options_for(1, 2);
  options.resume.since_ns = INT64_MAX;  // the plan is younger than all there is
  const auto report = run_share(conversion, options);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("exists already"), std::string::npos);
  expect_made();
}

TEST(TakeShare, CoversEveryTaskForAnyCutAndCount) {
  const TemporaryFolder folder;
  const auto planned = plan_conversion(make(folder.path()));
  ASSERT_TRUE(planned);
  for (const uint64_t chunk_bytes : {uint64_t{1} << 14, uint64_t{1} << 20}) {
    const Jobs all = cut(planned->plan, {chunk_bytes, 1});
    for (const uint32_t count : {1u, 2u, 7u, 5000u}) {
      size_t tasks = 0, scans = 0;
      uint64_t bytes = 0;
      for (uint32_t i = 1; i <= count; ++i) {
        Jobs jobs = count == 1 ? all : cut(planned->plan, {chunk_bytes, 1});
        take_share(jobs, planned->plan, i, count);
        for (const Task& task : jobs.tasks) (task.kind == Task::Kind::kScan ? scans : tasks) += 1;
        bytes += jobs.output_bytes;
        if (count == 5000u && i > 40) break;
      }
      if (count == 5000u) continue;
      EXPECT_GE(bytes, all.output_bytes);
      EXPECT_GE(tasks + scans, all.tasks.size());
      EXPECT_LE(tasks, all.tasks.size() + count);  // one more at each border
    }
  }
}

}  // namespace
}  // namespace ckpt

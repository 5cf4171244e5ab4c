// ckpt::plan: conversions as a program asks for them.
#include "plan/plan.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/pipeline/patch_folder.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

const std::filesystem::path kModel = std::filesystem::path(CKPT_TESTDATA) / "llama-micro";

ConvertOptions to_q4() {
  return {.to = "Q4_K_M", .more = {{"tokenizer-pre", "llama-bpe"}}, .threads = 2};
}

// Cancels when the plan is made and work begins.
class CancelsBeforeWork final : public Observer {
 public:
  std::unique_ptr<Progress> progress(std::string_view) override {
    cancelled_ = true;
    return nullptr;
  }
  const std::atomic<bool>* cancelled() const override { return &cancelled_; }

 private:
  std::atomic<bool> cancelled_{false};
};

class NoteKeeper final : public Observer {
 public:
  void note(std::string_view text) override { notes.emplace_back(text); }
  std::vector<std::string> notes;
};

TEST(Plan, ConvertsAsTheCommandDoes) {
  const TemporaryFolder folder;
  const auto made = convert(kModel, folder / "a.gguf", to_q4());
  ASSERT_TRUE(made) << made.error().text();
  Conversion typed;
  typed.in = kModel;
  typed.out = folder / "b.gguf";
  typed.to = "q4_k_m";
  typed.flags.add("tokenizer-pre", "llama-bpe");
  EXPECT_EQ(made->report.files[0].sha256, digest_of(typed));
}

TEST(Plan, RejectsAnOptionThatIsNotKnownOrHasNoEffect) {
  const TemporaryFolder folder;
  const auto unknown = convert(kModel, folder / "a.gguf", {.more = {{"tensors", "4"}}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what, "option 'tensors' is not known");
  const auto idle = convert(kModel, folder / "out", {.to = "bf16", .more = {{"pure", "yes"}}});
  ASSERT_FALSE(idle);
  EXPECT_NE(idle.error().text().find("--pure has no effect"), std::string::npos);
}

TEST(Plan, CancellingOneOfTwoConversionsLeavesTheOther) {
  const TemporaryFolder folder;
  CancelsBeforeWork impatient;
  Result<Converted> cancelled = misuse("not run"), whole = cancelled;
  std::thread other([&] {
    ConvertOptions one = to_q4();
    one.threads = 1;
    cancelled = convert(kModel, folder / "cancelled.gguf", one, &impatient);
  });
  whole = convert(kModel, folder / "whole.gguf", to_q4());
  other.join();
  ASSERT_TRUE(whole) << whole.error().text();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kInterrupted);
  EXPECT_FALSE(std::filesystem::exists(folder / "cancelled.gguf"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  const auto again = convert(kModel, folder / "again.gguf", to_q4());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->report.files[0].sha256, whole->report.files[0].sha256);
}

TEST(Plan, FollowsLinksForTheCallThatAsksForItOnly) {
  const TemporaryFolder folder;
  const auto in = folder / "in";
  std::filesystem::copy(kModel, in);
  std::filesystem::rename(in / "generation_config.json", folder / "apart.json");
  std::filesystem::create_symlink("../apart.json", in / "generation_config.json");
  const ReadOptions kFollowing{.follow_links = true};
  const std::vector<std::string> steps = {"config:set=max_position_embeddings=64"};
  ASSERT_TRUE(patch(in, steps, nullptr, kFollowing)) << "once more changes nothing";
  const auto refusals = [&](const ReadOptions& reading, const std::string& out) {
    int found = 0;
    for (int i = 0; i < 20; ++i) {
      const auto made = convert(in, folder / out, {.force = true, .reading = reading});
      const auto patched = patch(in, steps, nullptr, reading);
      found += (made ? 0 : 1) + (patched ? 0 : 1) + (doctor(in, {.reading = reading}) ? 0 : 1);
    }
    return found;
  };
  int refused = 0;
  std::thread other([&] { refused = refusals({}, "refused"); });
  EXPECT_EQ(refusals(kFollowing, "followed"), 0);
  other.join();
  EXPECT_EQ(refused, 60);
  EXPECT_FALSE(std::filesystem::exists(folder / "refused"));
}

// Does something between the plan and the work.
class ActsBeforeWork final : public Observer {
 public:
  explicit ActsBeforeWork(std::function<void()> what) : what_(std::move(what)) {}
  std::unique_ptr<Progress> progress(std::string_view) override {
    what_();
    return nullptr;
  }

 private:
  std::function<void()> what_;
};

TEST(Plan, AFileThatChangesEndsTheCallThatReadItOnly) {
  const TemporaryFolder folder;
  const auto in = folder / "in";
  std::filesystem::copy(kModel, in);
  Result<Converted> other = misuse("not run");
  ActsBeforeWork between([&] {
    std::ofstream(in / "config.json", std::ios::app) << "\n";
    std::thread([&] { other = convert(kModel, folder / "other.gguf", to_q4()); }).join();
  });
  const auto made = convert(in, folder / "made.gguf", to_q4(), &between);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(std::filesystem::exists(folder / "made.gguf"));
  EXPECT_TRUE(other) << other.error().text();
}

TEST(Plan, ReadsAFileWhereAFolderWas) {
  const TemporaryFolder folder;
  const auto in = folder / "in";
  std::filesystem::copy(kModel, in);
  const auto first = convert(in, folder / "first.gguf", to_q4());
  ASSERT_TRUE(first) << first.error().text();
  std::filesystem::remove_all(in);
  std::filesystem::rename(folder / "first.gguf", in);
  const auto second = convert(in, folder / "second.gguf");
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->report.files[0].sha256, first->report.files[0].sha256);
}

TEST(Plan, PatchesAndDiagnosesWithoutATerminal) {
  const TemporaryFolder folder;
  std::filesystem::copy(kModel, folder / "m");
  NoteKeeper keeper;
  const auto patched = patch(folder / "m", {"config:set=max_position_embeddings=40960"}, &keeper);
  ASSERT_TRUE(patched) << patched.error().text();
  const auto diagnosis = doctor(folder / "m", {.profiles = {"vllm-0.17"}});
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  ASSERT_EQ(diagnosis->verdicts.size(), 1U);
  EXPECT_EQ(diagnosis->verdicts[0].profile, "vllm-0.17");
}

// ---- decisions of the commands, in the library ------------------------------------------------

bool has_note(const NoteKeeper& keeper, std::string_view words) {
  return std::ranges::any_of(
      keeper.notes, [&](const std::string& note) { return note.find(words) != note.npos; });
}

// Weights of which one has no finite value.
void write_nan(const std::filesystem::path& path) {
  write_file(path, patch_test::safetensors(R"("format":"pt")", {{"a", 0xff}, {"b", 1}}));
}

TEST(Plan, APatchCopiesValuesThatAreNotFinite) {
  const TemporaryFolder folder;
  write_nan(folder / "m.safetensors");
  const auto dropped = patch(folder / "m.safetensors", {"drop:tensors=b"});
  ASSERT_TRUE(dropped) << dropped.error().text();
  EXPECT_EQ(dropped->files.size(), 1U);
}

TEST(Plan, AnErrorOfTheDataNamesTheInput) {
  const TemporaryFolder folder;
  const auto in = folder / "m.safetensors";
  write_nan(in);
  const auto made = convert(in, folder / "out", {.steps = {"cast:type=f32"}});
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().text().starts_with(in.string())) << made.error().text();
}

TEST(Plan, APatchWithoutStepsOnlyFinishesAnEarlierOne) {
  const TemporaryFolder folder;
  const auto model = folder / "m";
  std::filesystem::copy(kModel, model);
  const auto idle = patch(model, {});
  ASSERT_FALSE(idle);
  EXPECT_EQ(idle.error().code, ErrorCode::kUsage);
  std::filesystem::create_directory(model / ".ckpt-patch");
  std::filesystem::permissions(model / ".ckpt-patch", std::filesystem::perms::owner_all);
  NoteKeeper keeper;
  const auto finished = patch(model, {}, &keeper);
  ASSERT_TRUE(finished) << finished.error().text();
  EXPECT_TRUE(has_note(keeper, "leftovers of an interrupted patch were removed"));
  EXPECT_FALSE(std::filesystem::exists(model / ".ckpt-patch"));
}

// Writes to a file while others are read.
class Writer final : public Observer {
 public:
  explicit Writer(std::filesystem::path file) : file_(std::move(file)) {}
  std::unique_ptr<Progress> progress(std::string_view) override {
    return std::make_unique<Writing>(file_);
  }

 private:
  class Writing final : public Progress {
   public:
    explicit Writing(std::filesystem::path file) : file_(std::move(file)) {}
    void advanced(uint64_t, uint64_t) override { std::ofstream(file_, std::ios::app) << "\n"; }

   private:
    std::filesystem::path file_;
  };

  std::filesystem::path file_;
};

TEST(Plan, NoVerdictOnAFileThatChangesMeanwhile) {
  const TemporaryFolder folder;
  std::filesystem::copy(kModel, folder / "m");
  Writer writer(folder / "m/config.json");
  const auto diagnosis = doctor(folder / "m", {.deep = true}, &writer);
  ASSERT_FALSE(diagnosis);
  EXPECT_EQ(diagnosis.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(doctor(folder / "m", {.deep = true}));
}

TEST(Plan, AGgufIsAskedOfLlamaCpp) {
  const TemporaryFolder folder;
  ASSERT_TRUE(convert(kModel, folder / "m.gguf", to_q4()));
  const auto diagnosis = doctor(folder / "m.gguf");
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  ASSERT_EQ(diagnosis->verdicts.size(), 2U);
  EXPECT_EQ(diagnosis->verdicts[0].profile, "llama.cpp");
  EXPECT_EQ(diagnosis->verdicts[1].profile, "ollama");
  const auto lost = doctor(folder / "m.gguf", {.base = folder / "none"});
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().is_missing);
}

TEST(Plan, SeveralTypesAreSeveralOutputs) {
  const TemporaryFolder folder;
  ConvertOptions options = to_q4();
  options.to = "q8_0,q4_0";
  const auto made = convert(kModel, folder / "m-{type}.gguf", options);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->report.files.size(), 2U);
  EXPECT_TRUE(std::filesystem::exists(folder / "m-q8_0.gguf"));
  EXPECT_TRUE(std::filesystem::exists(folder / "m-q4_0.gguf"));
}

TEST(Plan, ASizeOfOtherFilesAndAPlaceOfAServerAreRefused) {
  const TemporaryFolder folder;
  ConvertOptions options = to_q4();
  options.more.push_back({"shard-size", "5GB"});
  const auto sized = convert(kModel, folder / "m.gguf", options);
  ASSERT_FALSE(sized);
  EXPECT_EQ(sized.error().hint, "--split-size 5GB");
  const auto far = convert(kModel, "https://example.com/m.gguf", to_q4());
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code, ErrorCode::kUsage);
  const auto nowhere = convert(kModel, "", to_q4());
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().what, "OUT is missing");
}

TEST(Plan, ATargetLooksAtOutFirst) {
  const TemporaryFolder folder;
  write_file(folder / "m.gguf", "mine");
  CancelsBeforeWork impatient;  // cancels where tensors are measured
  ConvertOptions options;
  options.more = {{"target-bits", "5"}, {"tokenizer-pre", "llama-bpe"}};
  const auto made = convert(kModel, folder / "m.gguf", options, &impatient);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUsage) << made.error().text();
}

TEST(Plan, AStepWithoutEffectIsNoted) {
  const TemporaryFolder folder;
  NoteKeeper keeper;
  const auto made = convert(kModel, folder / "out",
                            {.steps = {"config:set=max_position_embeddings=2048"}}, &keeper);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(has_note(keeper, "step config has no effect"));
}

}  // namespace
}  // namespace ckpt

// Patching in place: what is touched, what is not, and that nothing comes out half done.
#include "core/patch/patch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"
#include "tools/patching.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

// ---- a small sharded checkpoint ----------------------------------------------------------------

std::string safetensors(const std::string& metadata,
                        const std::vector<std::pair<std::string, uint8_t>>& tensors,
                        size_t spaces = 0) {
  std::string json = "{\"__metadata__\":{" + metadata + "}";
  std::string data;
  for (const auto& [name, fill] : tensors) {
    const size_t begin = data.size();
    data.append(64, static_cast<char>(fill));
    json += fmt::format(",\"{}\":{{\"dtype\":\"BF16\",\"shape\":[4,8],\"data_offsets\":[{},{}]}}",
                        name, begin, data.size());
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8 + spaces, ' ');
  const uint64_t length = json.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + json + data;
}

void make_checkpoint(const fs::path& folder, size_t spaces = 0) {
  fs::create_directories(folder);
  const std::string format = "\"format\":\"pt\"";
  write_file(folder / "model-00001-of-00002.safetensors",
             safetensors(format, {{"model.b.weight", 1}, {"model.a.weight", 2}}, spaces));
  write_file(folder / "model-00002-of-00002.safetensors",
             safetensors(format, {{"lm_head.weight", 3}}, spaces));
  write_file(folder / "model.safetensors.index.json",
             "{\"metadata\":{\"total_size\":192},\"weight_map\":{"
             "\"model.a.weight\":\"model-00001-of-00002.safetensors\","
             "\"model.b.weight\":\"model-00001-of-00002.safetensors\","
             "\"lm_head.weight\":\"model-00002-of-00002.safetensors\"}}");
  write_file(folder / "config.json", "{\n    \"eps\": 1e-06,\n    \"layers\": 2\n}\n");
  write_file(folder / "SHA256SUMS", "stale");
  write_file(folder / "notes.txt", "not ours");
}

// Content of every file, targets of links, by relative path.
std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (entry.is_symlink()) {
      out[name] = "-> " + fs::read_symlink(entry.path()).string();
    } else {
      out[name] = entry.is_directory() ? "folder" : read_file(entry.path());
    }
  }
  return out;
}

// What the system knows of a file: the same before and after means that nobody wrote it.
struct Stamp {
  uint64_t inode = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};
Stamp stamp(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return {status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

Result<PlannedPatch> plan(const fs::path& path, const std::vector<std::string>& steps,
                          bool rewrite_weights = false) {
  Patching patching;
  patching.path = path;
  patching.rewrite_weights = rewrite_weights;
  CKPT_ASSIGN(patching.steps, parse_steps(steps));
  return plan_patching(patching);
}

Status patch(const fs::path& path, const std::vector<std::string>& steps,
             bool rewrite_weights = false, const StepHook& hook = {}) {
  CKPT_TRY(recover_patch(path, hook));
  CKPT_ASSIGN(const PlannedPatch planned, plan(path, steps, rewrite_weights));
  PatchOptions options;
  options.execute.threads = 1;
  options.hook = hook;
  CKPT_TRY(apply_patch(planned.patch, options));
  return {};
}

std::string error_of(const Status& status) { return status ? "no error" : status.error().text(); }

const PatchedFile* find(const Patch& patch, const std::string& path) {
  for (const PatchedFile& file : patch.files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

Checkpoint read(const fs::path& path) {
  const auto format = recognise(path);
  EXPECT_TRUE(format) << (format ? "" : format.error().text());
  auto checkpoint = (*format)->read(path, all_codecs());
  EXPECT_TRUE(checkpoint) << (checkpoint ? "" : checkpoint.error().text());
  return std::move(*checkpoint);
}

// First byte of each tensor, by name.
std::map<std::string, int> fills(const fs::path& path) {
  std::map<std::string, int> out;
  for (const Tensor& tensor : read(path).tensors) {
    const Slice& slice = tensor.stored().parts[0][0];
    std::byte first{};
    EXPECT_TRUE(slice.source->read(slice.offset_bytes, std::span(&first, 1)));
    out[tensor.name] = static_cast<int>(first);
  }
  return out;
}

const std::string kShard1 = "model-00001-of-00002.safetensors";
const std::string kShard2 = "model-00002-of-00002.safetensors";
const std::string kIndex = "model.safetensors.index.json";

// ---- what is touched ---------------------------------------------------------------------------

TEST(Patch, ADocumentChangesAndNothingElseIsTouched) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const Stamp shard = stamp(folder / "m" / kShard1), index = stamp(folder / "m" / kIndex);
  ASSERT_EQ(error_of(patch(folder / "m", {"config:set=layers=3"})), "no error");
  EXPECT_EQ(read_file(folder / "m" / "config.json"),
            "{\n    \"eps\": 1e-06,\n    \"layers\": 3\n}\n");
  EXPECT_EQ(stamp(folder / "m" / kShard1), shard);
  EXPECT_EQ(stamp(folder / "m" / kIndex), index);
  EXPECT_FALSE(fs::exists(folder / "m" / "SHA256SUMS"));
  EXPECT_EQ(read_file(folder / "m" / "notes.txt"), "not ours");
  EXPECT_FALSE(fs::exists(staging_of(folder / "m")));
}

TEST(Patch, DocumentsArePatchedWhereWeightsCannotBeRead) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  write_file(folder / "m" / kShard1, "no header at all");
  EXPECT_EQ(error_of(patch(folder / "m", {"config:set=layers=3"})), "no error");
  EXPECT_EQ(read_file(folder / "m" / kShard1), "no header at all");
}

TEST(Patch, WhatIsSoAlreadyIsNotWritten) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto before = snapshot(folder / "m");
  const Stamp config = stamp(folder / "m" / "config.json"), itself = stamp(folder / "m");
  const auto planned = plan(folder / "m", {"config:set=layers=2", "metadata:set=format=pt"});
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_TRUE(planned->patch.changes_nothing());
  ASSERT_EQ(error_of(patch(folder / "m", {"config:set=layers=2", "metadata:set=format=pt"})),
            "no error");
  EXPECT_EQ(snapshot(folder / "m"), before);
  EXPECT_EQ(stamp(folder / "m" / "config.json"), config);
  EXPECT_EQ(stamp(folder / "m"), itself);
}

TEST(Patch, AShorterNameOverwritesTheHeaderAndMovesNothing) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const Stamp other = stamp(folder / "m" / kShard2);
  const auto planned = plan(folder / "m", {"rename:from=model.,to=m."});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_NE(find(planned->patch, kShard1), nullptr);
  EXPECT_EQ(find(planned->patch, kShard1)->change, FileChange::kHeader);
  EXPECT_EQ(find(planned->patch, kShard2), nullptr);
  const std::string old = read_file(folder / "m" / kShard1);
  const uint64_t inode = stamp(folder / "m" / kShard1).inode;
  ASSERT_EQ(error_of(patch(folder / "m", {"rename:from=model.,to=m."})), "no error");
  EXPECT_EQ(stamp(folder / "m" / kShard1).inode, inode);
  EXPECT_EQ(stamp(folder / "m" / kShard2), other);
  const std::string now = read_file(folder / "m" / kShard1);
  ASSERT_EQ(now.size(), old.size());
  EXPECT_EQ(now.substr(now.size() - 128), old.substr(old.size() - 128));
  const std::map<std::string, int> expected{
      {"lm_head.weight", 3}, {"m.a.weight", 2}, {"m.b.weight", 1}};
  EXPECT_EQ(fills(folder / "m"), expected);  // its reader also holds the index against the files
}

TEST(Patch, SlackTakesALongerName) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m", 512);
  const auto planned = plan(folder / "m", {"rename:from=model.,to=model.language_model."});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_NE(find(planned->patch, kShard1), nullptr);
  EXPECT_EQ(find(planned->patch, kShard1)->change, FileChange::kHeader);
}

TEST(Patch, AHeaderThatGrowsKeepsTheBytes) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const std::string to = "model." + std::string(300, 'x') + ".";
  ASSERT_EQ(error_of(patch(folder / "m", {"rename:from=model.,to=" + to})), "no error");
  const std::map<std::string, int> expected{
      {"lm_head.weight", 3}, {to + "a.weight", 2}, {to + "b.weight", 1}};
  EXPECT_EQ(fills(folder / "m"), expected);
}

TEST(Patch, ADroppedTensorLeavesFilesAndIndex) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  ASSERT_EQ(error_of(patch(folder / "m", {"drop:tensors=lm_head.*"})), "no error");
  EXPECT_FALSE(fs::exists(folder / "m" / kShard2));
  const std::map<std::string, int> expected{{"model.a.weight", 2}, {"model.b.weight", 1}};
  EXPECT_EQ(fills(folder / "m"), expected);
  EXPECT_NE(read_file(folder / "m" / kIndex).find("\"total_size\": 128"), std::string::npos);
  ASSERT_EQ(error_of(patch(folder / "m", {"drop:tensors=*.b.weight"})), "no error");
  const std::map<std::string, int> left{{"model.a.weight", 2}};
  EXPECT_EQ(fills(folder / "m"), left);
}

TEST(Patch, GraftedTensorsHaveAFileOfTheirOwn) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::create_directories(folder / "other");
  write_file(folder / "other" / "model.safetensors",
             safetensors("\"format\":\"pt\"", {{"mtp.fc.weight", 9}, {"lm_head.weight", 8}}));
  const Stamp shard = stamp(folder / "m" / kShard1);
  const std::string from = "from=" + (folder / "other").string();
  ASSERT_EQ(error_of(patch(folder / "m", {"graft:" + from + ",tensors=mtp.*"})), "no error");
  EXPECT_EQ(stamp(folder / "m" / kShard1), shard);
  std::map<std::string, int> expected{
      {"lm_head.weight", 3}, {"model.a.weight", 2}, {"model.b.weight", 1}, {"mtp.fc.weight", 9}};
  EXPECT_EQ(fills(folder / "m"), expected);
  EXPECT_TRUE(fs::exists(folder / "m" / "model-grafted.safetensors"));
  const auto before = snapshot(folder / "m");
  EXPECT_NE(error_of(patch(folder / "m", {"graft:" + from + ",tensors=lm_head.weight"}))
                .find("is in both"),
            std::string::npos);
  const std::string replaced = "graft:" + from + ",tensors=lm_head.weight,replace=yes";
  EXPECT_NE(error_of(patch(folder / "m", {replaced})).find("changes the values of tensor"),
            std::string::npos);
  EXPECT_EQ(snapshot(folder / "m"), before);
  ASSERT_EQ(error_of(patch(folder / "m", {replaced}, true)), "no error");
  expected["lm_head.weight"] = 8;
  EXPECT_EQ(fills(folder / "m"), expected);
}

TEST(Patch, ValuesChangeOnlyWhenAskedFor) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto before = snapshot(folder / "m");
  EXPECT_NE(error_of(patch(folder / "m", {"cast:type=f32"})).find("--rewrite-weights"),
            std::string::npos);
  EXPECT_EQ(snapshot(folder / "m"), before);
  EXPECT_EQ(error_of(patch(folder / "m", {"cast:type=bf16"})), "no error");  // is bf16 already
  EXPECT_EQ(snapshot(folder / "m"), before);
  ASSERT_EQ(error_of(patch(folder / "m", {"cast:type=f32"}, true)), "no error");
  for (const Tensor& tensor : read(folder / "m").tensors) EXPECT_EQ(tensor.codec->name, "f32");
}

// ---- other names of the same bytes -------------------------------------------------------------

TEST(Patch, FilesBehindLinksAreNotWritten) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "blobs");
  fs::create_directories(folder / "m");
  for (const auto& [name, content] : snapshot(folder / "blobs")) {
    fs::create_symlink(folder / "blobs" / name, folder / "m" / name);
  }
  const auto blobs = snapshot(folder / "blobs");
  ASSERT_EQ(error_of(patch(folder / "m", {"rename:from=model.,to=m.", "config:set=layers=3"})),
            "no error");
  EXPECT_EQ(snapshot(folder / "blobs"), blobs);
  EXPECT_FALSE(fs::is_symlink(folder / "m" / kShard1));
  EXPECT_TRUE(fs::is_symlink(folder / "m" / kShard2));
  EXPECT_FALSE(fs::is_symlink(folder / "m" / "config.json"));
  EXPECT_EQ(fills(folder / "m").count("m.a.weight"), 1u);
}

TEST(Patch, FilesWithASecondNameAreNotWrittenOver) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::create_hard_link(folder / "m" / kShard1, folder / "second");
  const std::string old = read_file(folder / "second");
  ASSERT_EQ(error_of(patch(folder / "m", {"rename:from=model.,to=m."})), "no error");
  EXPECT_EQ(read_file(folder / "second"), old);
  EXPECT_EQ(fills(folder / "m").count("m.a.weight"), 1u);
}

TEST(Patch, LinksInACircleAreSaid) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::remove(folder / "m" / "config.json");
  fs::create_symlink("config.json", folder / "m" / "config.json");
  const auto before = snapshot(folder / "m");
  EXPECT_NE(error_of(patch(folder / "m", {"config:set=layers=3"})).find("cannot be opened"),
            std::string::npos);
  EXPECT_EQ(snapshot(folder / "m"), before);
}

// ---- killed ------------------------------------------------------------------------------------

// Runs `job` in a process of its own that is killed before its `steps`-th step. True when it was.
bool killed_at(int steps, const std::function<void(const StepHook&)>& job) {
  const pid_t child = ::fork();
  if (child == 0) {
    int left = steps;
    job([&left](std::string_view) {
      if (left-- == 0) ::raise(SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

void expect_all_or_nothing(const std::vector<std::string>& steps, bool rewrite_weights) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "old");
  make_checkpoint(folder / "new");
  ASSERT_EQ(error_of(patch(folder / "new", steps, rewrite_weights)), "no error");
  const auto before = snapshot(folder / "old"), after = snapshot(folder / "new");
  ASSERT_NE(before, after);
  int undone = 0, finished = 0;
  for (int at = 0;; ++at) {
    const fs::path path = folder / fmt::format("m{}", at);
    make_checkpoint(path);
    const auto job = [&](const StepHook& hook) { (void)patch(path, steps, rewrite_weights, hook); };
    if (!killed_at(at, job)) break;
    const bool committed = patch_state(path) == PatchState::kUnfinished;
    EXPECT_EQ(recognise(path).has_value(), !committed);
    // The one who finishes is killed too, at each of its steps.
    for (int again = 0;
         killed_at(again, [&](const StepHook& hook) { (void)recover_patch(path, hook); });
         ++again) {
    }
    const auto recovered = recover_patch(path);
    ASSERT_TRUE(recovered) << recovered.error().text();
    const auto state = snapshot(path);
    EXPECT_TRUE(state == after || (state == before && !committed)) << "killed before step " << at;
    undone += state == before ? 1 : 0;
    finished += state == after ? 1 : 0;
    if (state == after) continue;
    ASSERT_EQ(error_of(patch(path, steps, rewrite_weights)), "no error");
    EXPECT_EQ(snapshot(path), after);
  }
  EXPECT_GE(undone, 3);
  EXPECT_GE(finished, 3);
}

TEST(PatchKilled, BetweenDocumentsAndHeadersInPlace) {
  expect_all_or_nothing({"config:set=layers=3", "metadata:set=format=np"}, false);
}

TEST(PatchKilled, WithHeadersThatGrow) {
  expect_all_or_nothing({"metadata:set=note=" + std::string(500, 'n'), "config:set=layers=3"},
                        false);
}

TEST(PatchKilled, WithWeightsWrittenAnew) {
  expect_all_or_nothing({"cast:type=f32", "config:set=layers=3"}, true);
}

TEST(PatchKilled, WithFilesThatGo) { expect_all_or_nothing({"drop:tensors=lm_head.*"}, false); }

TEST(PatchKilled, WithOneDocument) {
  const TemporaryFolder folder;
  for (int at = 0;; ++at) {
    const fs::path path = folder / fmt::format("m{}", at);
    make_checkpoint(path);
    fs::remove(path / "SHA256SUMS");
    const auto before = snapshot(path);
    auto after = before;
    after["config.json"] = "{\n    \"eps\": 1e-06,\n    \"layers\": 3\n}\n";
    const bool killed = killed_at(
        at, [&](const StepHook& hook) { (void)patch(path, {"config:set=layers=3"}, false, hook); });
    EXPECT_TRUE(recognise(path));
    ASSERT_TRUE(recover_patch(path));
    const auto state = snapshot(path);
    EXPECT_TRUE(state == after || (killed && state == before)) << "killed before step " << at;
    if (!killed) break;
    ASSERT_LT(at, 20);
  }
}

TEST(PatchKilled, TwoAtOnceAreRefused) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto planned = plan(folder / "m", {"config:set=layers=3"});  // and SHA256SUMS goes
  ASSERT_TRUE(planned);
  PatchOptions options;
  std::string second;
  options.hook = [&](std::string_view step) {
    if (step == "commit") second = error_of(patch(folder / "m", {"config:set=layers=4"}));
  };
  ASSERT_TRUE(apply_patch(planned->patch, options));
  EXPECT_NE(second.find("another ckpt is patching it"), std::string::npos) << second;
}

TEST(PatchKilled, AJournalThatLeavesTheFolderIsRefused) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  write_file(folder / "victim", "precious");
  fs::create_directories(staging_of(folder / "m"));
  for (const char* line : {"remove ../victim\n", "replace 0 ../victim\n", "remove /etc\n", "x\n"}) {
    write_file(staging_of(folder / "m") / "journal", fmt::format("ckpt-patch 1\n{}end\n", line));
    EXPECT_NE(error_of(patch(folder / "m", {"config:set=layers=3"})).find("no journal of a patch"),
              std::string::npos);
  }
  EXPECT_EQ(read_file(folder / "victim"), "precious");
}

// ---- where nobody may write ---------------------------------------------------------------------

TEST(Patch, AFolderOfSomebodyElseStaysAsItIs) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::permissions(folder.path(), fs::perms(0755));
  const auto before = snapshot(folder / "m");
  for (const char* step : {"config:set=layers=3", "rename:from=model.,to=m."}) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
      const std::string error = error_of(patch(folder / "m", {step}));
      (void)!::write(pipe[1], error.data(), error.size());
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    char text[500] = {};
    EXPECT_GT(::read(pipe[0], text, sizeof text - 1), 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
    EXPECT_NE(std::string(text).find("Permission denied. Try: --out"), std::string::npos) << text;
    EXPECT_EQ(snapshot(folder / "m"), before);
  }
}

// ---- elsewhere ---------------------------------------------------------------------------------

TEST(PatchOut, LinksWhatStaysAndLeavesThePatchedOneAlone) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto before = snapshot(folder / "m");
  Patching patching;
  patching.path = folder / "m";
  patching.elsewhere = true;
  patching.steps = *parse_steps({"rename:from=model.,to=m.", "config:set=layers=3"});
  for (const LinkWay way : {LinkWay::kReflink, LinkWay::kHard, LinkWay::kCopy}) {
    const auto planned = plan_patching(patching);
    ASSERT_TRUE(planned) << planned.error().text();
    const fs::path out = folder / fmt::format("out{}", static_cast<int>(way));
    const auto report = write_patched(planned->patch, out, way, {});
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(snapshot(folder / "m"), before);
    const std::map<std::string, int> expected{
        {"lm_head.weight", 3}, {"m.a.weight", 2}, {"m.b.weight", 1}};
    EXPECT_EQ(fills(out), expected);
    EXPECT_FALSE(fs::exists(out / "SHA256SUMS"));
    EXPECT_EQ(fs::equivalent(out / kShard2, folder / "m" / kShard2), way == LinkWay::kHard);
    EXPECT_EQ(listing(folder.path()).find("partial"), std::string::npos);
  }
  // A second patch, of the one with hard links, must not reach through them.
  ASSERT_EQ(error_of(patch(folder / "out1", {"rename:from=lm_head.,to=head."})), "no error");
  EXPECT_EQ(snapshot(folder / "m"), before);
}

// ---- GGUF --------------------------------------------------------------------------------------

fs::path make_gguf(const TemporaryFolder& folder, uint64_t slack_bytes = 0) {
  Conversion conversion;
  conversion.in = testdata("qwen3-micro");
  conversion.out = folder / "m.gguf";
  conversion.to = "bf16";
  conversion.tokenizer_pre = "qwen2";
  conversion.header_slack_bytes = slack_bytes;
  EXPECT_EQ(ckpt::error_of(conversion), "no error");
  return conversion.out;
}

std::string data_of(const fs::path& path) {
  const Checkpoint checkpoint = read(path);
  return read_file(path).substr(checkpoint.tensors[0].stored().parts[0][0].offset_bytes);
}

TEST(PatchGguf, AKeyOfTheSameSizeChangesItsBytesAlone) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder);
  const std::string old = read_file(path);
  const uint64_t inode = stamp(path).inode;
  ASSERT_EQ(error_of(patch(path, {"metadata:set=qwen3.context_length=77"})), "no error");
  const std::string now = read_file(path);
  ASSERT_EQ(now.size(), old.size());
  size_t differing = 0;
  for (size_t i = 0; i < now.size(); ++i) differing += now[i] != old[i] ? 1 : 0;
  EXPECT_GE(differing, 1u);
  EXPECT_LE(differing, 4u);
  EXPECT_EQ(stamp(path).inode, inode);
  EXPECT_EQ(read(path).metadata.find_unsigned("qwen3.context_length"), 77u);
  EXPECT_EQ(listing(folder.path()), "m.gguf\n");
}

TEST(PatchGguf, AHeaderThatShrinksAndGrowsAgainStaysInPlace) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder);
  const std::string data = data_of(path);
  const uint64_t size = fs::file_size(path);
  const std::string name = *read(path).metadata.find_text("general.name");
  ASSERT_EQ(error_of(patch(path, {"metadata:remove=tokenizer.chat_template"})), "no error");
  EXPECT_EQ(read(path).metadata.find("tokenizer.chat_template"), nullptr);
  EXPECT_EQ(fs::file_size(path), size);
  const std::string longer(200, 'n');
  const auto planned = plan(path, {"metadata:set=general.name=" + longer});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_EQ(planned->patch.files.size(), 1u);
  EXPECT_EQ(planned->patch.files[0].change, FileChange::kHeader);
  ASSERT_EQ(error_of(patch(path, {"metadata:set=general.name=" + longer})), "no error");
  EXPECT_EQ(*read(path).metadata.find_text("general.name"), longer);
  EXPECT_EQ(data_of(path), data);
}

TEST(PatchGguf, AHeaderThatOutgrowsItsRoomKeepsTheTensors) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder);
  const std::string data = data_of(path), longer(9000, 'n');
  ASSERT_EQ(error_of(patch(path, {"metadata:set=general.name=" + longer})), "no error");
  EXPECT_EQ(*read(path).metadata.find_text("general.name"), longer);
  EXPECT_EQ(data_of(path), data);
}

TEST(PatchGguf, SlackOfAConversionIsUsed) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder, 4096);
  const auto planned = plan(path, {"metadata:set=my.key=" + std::string(3000, 'v')});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_EQ(planned->patch.files.size(), 1u);
  EXPECT_EQ(planned->patch.files[0].change, FileChange::kHeader);
}

}  // namespace
}  // namespace ckpt

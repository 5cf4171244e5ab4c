// A resumed run believes only complete batches of a ledger, and of these only work that a power cut
// cannot have lost.
#include "core/resume/ledger.h"

#include <gtest/gtest.h>

#include <array>

#include "core/resume/range_set.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

const std::string kPlan(64, 'a');

LedgerHead head() { return {kPlan, "ckpt convert in out", {{"in/a b.safetensors", 10, -5, 3, 7}}}; }

Ledger opened(const TemporaryFolder& folder) {
  auto ledger = Ledger::open(folder / "ledger");
  EXPECT_TRUE(ledger) << ledger.error().text();
  return std::move(*ledger);
}

// A ledger of three batches, the first of them the head.
std::string three_batches(const TemporaryFolder& folder) {
  Ledger ledger = opened(folder);
  EXPECT_TRUE(ledger.begin(head()));
  EXPECT_TRUE(ledger.append("wrote 0 1 4096 8192\nscan 3 0 512 3f800000\n"));
  EXPECT_TRUE(ledger.append("synced\nwrote 0 1 0 4096\n"));
  return read_file(folder / "ledger");
}

TEST(Ledger, ReadsBackItsEntries) {
  const TemporaryFolder folder;
  const auto content = parse_ledger(three_batches(folder), boot_id());
  ASSERT_TRUE(content) << content.error().text();
  EXPECT_EQ(content->head.plan, kPlan);
  EXPECT_EQ(content->head.command, "ckpt convert in out");
  EXPECT_EQ(content->head.inputs, head().inputs);
  ASSERT_EQ(content->entries.size(), 3u);
  EXPECT_EQ(content->entries[0].numbers[2], 4096u);
  EXPECT_EQ(content->entries[1].kind, LedgerEntry::Kind::kScan);
  EXPECT_EQ(content->entries[1].numbers[3], 0x3f800000u);
}

TEST(Ledger, SaysWhereItsCommandWasTyped) {
  const TemporaryFolder folder;
  LedgerHead typed = head();
  typed.folder = "/my models";
  Ledger ledger = opened(folder);
  ASSERT_TRUE(ledger.begin(typed));
  const auto content = parse_ledger(read_file(folder / "ledger"), boot_id());
  ASSERT_TRUE(content) << content.error().text();
  EXPECT_EQ(content->head.folder, typed.folder);
  EXPECT_EQ(content->head.inputs, typed.inputs);
  EXPECT_EQ(command_from_here(content->head), "cd '/my models' && ckpt convert in out");
  typed.folder = command_folder();
  EXPECT_EQ(command_from_here(typed), "ckpt convert in out");
  typed.folder.clear();
  EXPECT_EQ(command_from_here(typed), "ckpt convert in out");
}

// A ledger written when files did not yet get their first bytes last: such a run starts over.
TEST(Ledger, DoesNotReadTheFirstVersion) {
  const std::string head =
      "ckpt-ledger 1\nplan " + kPlan + "\ncommand ckpt convert in out\nboot b\n";
  Sha256 sha256;
  sha256.add(std::as_bytes(std::span(head)));
  EXPECT_FALSE(parse_ledger(head + "= " + sha256.finish().substr(0, 16) + "\n", "b"));
}

TEST(Ledger, RecordsTheProgressOfAHash) {
  const TemporaryFolder folder;
  Sha256 sha256;
  sha256.add(std::as_bytes(std::span("some bytes", 10)));
  const Sha256State state = sha256.state();
  Ledger ledger = opened(folder);
  ASSERT_TRUE(ledger.begin(head()));
  ASSERT_TRUE(ledger.append(fmt::format("hashed 2 1 10 {}\n", state.text)));
  ASSERT_TRUE(ledger.append(fmt::format("hashed 2 1 11 {}\n", state.text)));  // too short for 11
  const auto content = parse_ledger(read_file(folder / "ledger"), boot_id());
  ASSERT_TRUE(content);
  ASSERT_EQ(content->entries.size(), 1u);
  EXPECT_EQ(content->entries[0].kind, LedgerEntry::Kind::kHashed);
  EXPECT_EQ(content->entries[0].numbers[0], 2u);
  EXPECT_EQ(content->entries[0].numbers[2], 10u);
  EXPECT_EQ(content->entries[0].sha256, state.text);
}

TEST(Ledger, AfterAnotherBootOnlyWhatWasSyncedCounts) {
  const TemporaryFolder folder;
  const auto content = parse_ledger(three_batches(folder), "another boot");
  ASSERT_TRUE(content);
  EXPECT_EQ(content->entries.size(), 2u);
}

TEST(Ledger, ATornLedgerListsOnlyWrittenRanges) {
  const TemporaryFolder folder;
  const std::string bytes = three_batches(folder);
  std::array<size_t, 4> seen{};
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto content = parse_ledger(bytes.substr(0, size), boot_id());
    const size_t entries = content ? content->entries.size() : 0;
    ASSERT_TRUE(entries == 0 || entries == 2) << size;
    ++seen[content ? 1 + entries : 0];
    if (content) {
      EXPECT_LE(content->sound_bytes, size);
    }
  }
  EXPECT_GT(seen[0], 0u);
  EXPECT_GT(seen[1], 0u);
  EXPECT_GT(seen[3], 0u);
}

TEST(Ledger, AChangedByteInvalidatesOnlyLaterEntries) {
  const TemporaryFolder folder;
  const std::string bytes = three_batches(folder);
  const auto whole = parse_ledger(bytes, boot_id());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x01);
    const auto content = parse_ledger(changed, boot_id());
    if (content) {
      EXPECT_LT(content->entries.size(), whole->entries.size()) << i;
    }
  }
}

TEST(Ledger, AppendsAfterATornBatch) {
  const TemporaryFolder folder;
  write_file(folder / "ledger", three_batches(folder) + "wrote 0 1 99 1\n= 00");
  Ledger ledger = opened(folder);
  auto content = ledger.read();
  ASSERT_TRUE(content && *content);
  ASSERT_TRUE(ledger.continue_after(**content));
  ASSERT_TRUE(ledger.append("wrote 0 1 12288 1\n"));
  const auto after = parse_ledger(read_file(folder / "ledger"), boot_id());
  ASSERT_TRUE(after);
  ASSERT_EQ(after->entries.size(), 4u);
  EXPECT_EQ(after->entries[3].numbers[2], 12288u);
}

TEST(Ledger, IsHeldByOne) {
  const TemporaryFolder folder;
  const Ledger ledger = opened(folder);
  const auto second = Ledger::open(folder / "ledger");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUsage);
  EXPECT_NE(second.error().text().find("another ckpt is at work"), std::string::npos);
}

TEST(Ledger, IgnoresUnparsableLines) {
  const TemporaryFolder folder;
  for (const char* line : {"wrote 0 1 2\n", "wrote 0 0 18446744073709551615 1\n", "wrote a 0 0 0\n",
                           "scan 0 0 0 100000000\n", "digest 0 0 abc\n", "publish 0\n", "what\n"}) {
    Ledger ledger = opened(folder);
    ASSERT_TRUE(ledger.begin(head()));
    ASSERT_TRUE(ledger.append(line));
    const auto content = ledger.read();
    ASSERT_TRUE(content && *content);
    EXPECT_TRUE((*content)->entries.empty()) << line;
  }
}

TEST(RangeSet, JoinsRunsThatTouch) {
  RangeSet set;
  set.add(10, 10);
  set.add(30, 10);
  EXPECT_FALSE(set.contains(10, 30));
  set.add(20, 10);
  EXPECT_TRUE(set.contains(10, 30));
  EXPECT_FALSE(set.contains(9, 2));
  EXPECT_FALSE(set.contains(39, 2));
  set.add(0, 100);
  EXPECT_EQ(set.runs().size(), 1u);
  EXPECT_EQ(set.size(), 100u);
  set.add(100, 0);
  EXPECT_TRUE(set.contains(500, 0));
  EXPECT_EQ(set.size(), 100u);
}

}  // namespace
}  // namespace ckpt

#include "core/base/glob.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/base/arithmetic.h"

namespace ckpt {
namespace {

// Runs of up to this many elements are tried at each place; longer runs at all places in parallel.
constexpr size_t kShortRun = 64;
constexpr size_t kWordBits = 64;

size_t find_bytes(std::string_view name, std::string_view part) {
  const void* at = ::memmem(name.data(), name.size(), part.data(), part.size());
  if (at == nullptr) return name.npos;
  return static_cast<size_t>(static_cast<const char*>(at) - name.data());
}

// Reads the members of a set from `at`, after "[" and "!", and moves `at` past its "]". Requires: a
// "]" follows the first member.
std::bitset<256> read_members(std::string_view pattern, size_t& at) {
  std::bitset<256> out;
  const size_t first = at;
  while (pattern[at] != ']' || at == first) {
    const bool is_range =
        at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    const auto low = static_cast<uint8_t>(pattern[at]);
    const auto high = static_cast<uint8_t>(pattern[at + (is_range ? 2 : 0)]);
    for (unsigned byte = low; byte <= high; ++byte) out.set(byte);
    at += is_range ? 3 : 1;
  }
  ++at;
  return out;
}

}  // namespace

Glob::Glob(std::string_view pattern) : is_open_front_(pattern.starts_with('*')) {
  const size_t last_close = pattern.rfind(']');
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at++];
    const bool is_negated = at < pattern.size() && pattern[at] == '!';
    const size_t members = at + (is_negated ? 1 : 0);
    is_open_back_ = c == '*';
    if (c == '*') {
      has_star_ = true;
      end_run();
    } else if (c == '?') {
      add_set(Set().set());
    } else if (c == '[' && last_close != pattern.npos && last_close > members) {
      at = members;
      const Set set = read_members(pattern, at);
      add_set(is_negated ? ~set : set);
    } else {
      bytes_ += c;
    }
  }
  end_run();
  if (!sets_.empty()) sets_of_.resize(bytes_.size());
  for (Run& run : runs_) {
    if (!run.is_literal && run.size() > kShortRun) build_table(run);
  }
}

void Glob::end_run() {
  const size_t begin = runs_.empty() ? 0 : runs_.back().end;
  if (begin == bytes_.size()) return;
  runs_.push_back({begin, bytes_.size(), sets_of_.size() <= begin});
}

void Glob::add_set(const Set& set) {
  sets_.push_back(set);
  sets_of_.resize(bytes_.size());
  sets_of_.push_back(static_cast<uint32_t>(sets_.size()));
  bytes_ += '\0';
}

bool Glob::takes(size_t element, char byte) const {
  const uint32_t set = sets_of_.empty() ? 0 : sets_of_[element];
  return set == 0 ? bytes_[element] == byte : sets_[set - 1][static_cast<uint8_t>(byte)];
}

void Glob::build_table(Run& run) {
  const size_t words = divide_up(run.size(), kWordBits);
  std::vector<uint64_t> table(256 * words);
  for (size_t i = 0; i < run.size(); ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      if (!takes(run.begin + i, static_cast<char>(byte))) continue;
      table[byte * words + i / kWordBits] |= uint64_t{1} << (i % kWordBits);
    }
  }
  run.table = tables_.size();
  tables_.push_back(std::move(table));
}

bool Glob::fits(const Run& run, std::string_view name, size_t at) const {
  if (run.is_literal) return name.substr(at).starts_with(text_of(run));
  for (size_t i = 0; i < run.size(); ++i) {
    if (!takes(run.begin + i, name[at + i])) return false;
  }
  return true;
}

size_t Glob::find(const Run& run, std::string_view name) const {
  if (run.size() > name.size()) return name.npos;
  if (run.is_literal) return find_bytes(name, text_of(run));
  if (run.table != SIZE_MAX) return find_long(run, name);
  for (size_t at = 0; at + run.size() <= name.size(); ++at) {
    if (fits(run, name, at)) return at;
  }
  return name.npos;
}

// Shift-And: bit i is set if the last i + 1 bytes match the first i + 1 elements.
size_t Glob::find_long(const Run& run, std::string_view name) const {
  const std::vector<uint64_t>& table = tables_[run.table];
  const size_t words = divide_up(run.size(), kWordBits);
  const size_t last = run.size() - 1;
  std::vector<uint64_t> state(words);
  for (size_t at = 0; at < name.size(); ++at) {
    const uint64_t* takes = table.data() + static_cast<uint8_t>(name[at]) * words;
    uint64_t carry = 1;
    for (size_t i = 0; i < words; ++i) {
      const uint64_t next_carry = state[i] >> (kWordBits - 1);
      state[i] = (state[i] << 1 | carry) & takes[i];
      carry = next_carry;
    }
    if ((state[last / kWordBits] >> (last % kWordBits) & 1) != 0) return at - last;
  }
  return name.npos;
}

bool Glob::matches(std::string_view name) const {
  if (name.size() < bytes_.size() || (!has_star_ && name.size() != bytes_.size())) return false;
  std::span<const Run> runs = runs_;
  if (!runs.empty() && !is_open_front_) {
    if (!fits(runs.front(), name, 0)) return false;
    name.remove_prefix(runs.front().size());
    runs = runs.subspan(1);
  }
  if (!runs.empty() && !is_open_back_) {
    if (!fits(runs.back(), name, name.size() - runs.back().size())) return false;
    name.remove_suffix(runs.back().size());
    runs = runs.first(runs.size() - 1);
  }
  for (const Run& run : runs) {
    const size_t at = find(run, name);
    if (at == name.npos) return false;
    name.remove_prefix(at + run.size());
  }
  return true;
}

std::vector<std::string_view> Glob::pieces() const {
  std::vector<std::string_view> out;
  for (const Run& run : runs_) {
    for (size_t at = run.begin; at < run.end;) {
      size_t end = at;
      while (end < run.end && (sets_of_.empty() || sets_of_[end] == 0)) ++end;
      if (end > at) out.push_back(std::string_view(bytes_).substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

GlobList::GlobList(const std::vector<std::string>& patterns) {
  globs_.reserve(patterns.size());
  for (const std::string& pattern : patterns) globs_.emplace_back(pattern);
  std::vector<std::string_view> all;
  for (const Glob& glob : globs_) {
    for (const std::string_view piece : glob.pieces()) all.push_back(piece);
  }
  std::ranges::sort(all);
  const auto count_of = [&](std::string_view piece) {
    const auto [begin, end] = std::equal_range(all.begin(), all.end(), piece);
    return end - begin;
  };
  std::vector<std::string_view> keys;
  for (uint32_t i = 0; i < globs_.size(); ++i) {
    std::string_view key;
    ptrdiff_t least = 0;
    for (const std::string_view piece : globs_[i].pieces()) {
      const ptrdiff_t count = count_of(piece);
      const bool is_better =
          key.empty() || count < least || (count == least && piece.size() > key.size());
      if (!is_better) continue;
      key = piece;
      least = count;
    }
    keys.push_back(key);
  }
  keys_ = PartIndex(keys);
  globs_of_.resize(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) {
    (keys[i].empty() ? without_key_ : globs_of_[*keys_.find(keys[i])]).push_back(i);
  }
}

// Calls `take` with the index of each matching pattern until it returns false.
template <class Take>
void GlobList::visit(std::string_view name, const Take& take) const {
  const auto try_all = [&](const std::vector<uint32_t>& numbers) {
    return std::ranges::all_of(
        numbers, [&](uint32_t number) { return !globs_[number].matches(name) || take(number); });
  };
  if (globs_.empty() || !try_all(without_key_)) return;
  for (const uint32_t key : keys_.parts_of(name)) {
    if (!try_all(globs_of_[key])) return;
  }
}

bool GlobList::matches_any(std::string_view name) const {
  bool found = false;
  visit(name, [&](uint32_t) {
    found = true;
    return false;
  });
  return found;
}

std::vector<uint32_t> GlobList::matching(std::string_view name) const {
  std::vector<uint32_t> out;
  visit(name, [&](uint32_t number) {
    out.push_back(number);
    return true;
  });
  std::ranges::sort(out);
  return out;
}

}  // namespace ckpt

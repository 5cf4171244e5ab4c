#include "core/base/regex.h"

#include <charconv>
#include <optional>
#include <utility>

namespace ckpt {
namespace {

using ByteSet = std::bitset<256>;
constexpr size_t kMaxRegexDepth = 64;  // nesting of groups
constexpr uint32_t kNoLimit = UINT32_MAX;

ByteSet range_set(unsigned char low, unsigned char high) {
  ByteSet out;
  for (unsigned byte = low; byte <= high; ++byte) out.set(byte);
  return out;
}

// The class for "\d" and similar; nullopt for an escaped character, which matches itself.
std::optional<ByteSet> escaped_class(char c) {
  const ByteSet digits = range_set('0', '9');
  const ByteSet words = digits | range_set('a', 'z') | range_set('A', 'Z') | range_set('_', '_');
  const ByteSet spaces = range_set('\t', '\r') | range_set(' ', ' ');
  switch (c) {
    case 'd': return digits;
    case 'D': return ~digits;
    case 'w': return words;
    case 'W': return ~words;
    case 's': return spaces;
    case 'S': return ~spaces;
    default: return std::nullopt;
  }
}

// The syntax tree of an expression.
struct RegexNode {
  enum class Kind : uint8_t { kSet, kBegin, kEnd, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kSequence;
  ByteSet set = {};
  std::vector<RegexNode> parts = {};
  uint32_t least = 1, most = 1;
};

// Appends to `run` the bytes that each match of `node` contains; ends the run if others may follow.
void add_key(const RegexNode& node, std::string& run, std::string& longest) {
  using Kind = RegexNode::Kind;
  if (node.kind == Kind::kSequence) {
    for (const RegexNode& part : node.parts) add_key(part, run, longest);
  } else if (node.kind == Kind::kSet && node.set.count() == 1) {
    run += static_cast<char>(node.set._Find_first());
  } else if (node.kind != Kind::kBegin && node.kind != Kind::kEnd) {
    if (run.size() > longest.size()) longest = run;
    run.clear();
  }
}

std::string key_of(const RegexNode& root) {
  std::string run, longest;
  add_key(root, run, longest);
  return run.size() > longest.size() ? run : longest;
}

}  // namespace

class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : pattern_(pattern) {}

  Result<Regex> parse() {
    CKPT_ASSIGN(const RegexNode root, choice(0));
    if (at_ != pattern_.size()) return wrong("')' without '('");
    const uint32_t match = add({Regex::Kind::kMatch, 0, 0, 0});
    CKPT_ASSIGN(out_.first_, build(root, match));
    out_.key_ = key_of(root);
    return std::move(out_);
  }

 private:
  Failure wrong(std::string_view what) const {
    return misuse("'{}': not a regular expression that is read here: {}", pattern_, what);
  }
  bool is_at(char c) const { return at_ < pattern_.size() && pattern_[at_] == c; }
  bool take(char c) {
    const bool is_there = is_at(c);
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  Result<RegexNode> choice(size_t depth) {
    if (depth > kMaxRegexDepth) return wrong("groups nested too deeply");
    RegexNode out{RegexNode::Kind::kChoice};
    do {
      CKPT_ASSIGN(out.parts.emplace_back(), sequence(depth));
    } while (take('|'));
    return out.parts.size() == 1 ? std::move(out.parts[0]) : std::move(out);
  }

  Result<RegexNode> sequence(size_t depth) {
    RegexNode out{RegexNode::Kind::kSequence};
    while (at_ < pattern_.size() && !is_at('|') && !is_at(')')) {
      CKPT_ASSIGN(RegexNode part, atom(depth));
      CKPT_ASSIGN(part, repeated(std::move(part)));
      out.parts.push_back(std::move(part));
    }
    return out;
  }

  Result<RegexNode> atom(size_t depth) {
    const char c = pattern_[at_++];
    switch (c) {
      case '^':
        return RegexNode{RegexNode::Kind::kBegin};
      case '$':
        return RegexNode{RegexNode::Kind::kEnd};
      case '.':
        return RegexNode{RegexNode::Kind::kSet, ByteSet().set()};
      case '[': return bracket();
      case '(': return group(depth);
      case '*':
      case '+':
      case '?':
      case '{':
        return wrong(fmt::format("'{}' repeats nothing", c));
      case '\\': return escape();
      default:
        return RegexNode{RegexNode::Kind::kSet,
                         range_set(static_cast<unsigned char>(c), static_cast<unsigned char>(c))};
    }
  }

  Result<RegexNode> group(size_t depth) {
    if (take('?') && !take(':')) return wrong("'(?' of another kind than (?:");
    CKPT_ASSIGN(RegexNode inner, choice(depth + 1));
    if (!take(')')) return wrong("'(' without ')'");
    return inner;
  }

  Result<RegexNode> escape() {
    if (at_ == pattern_.size()) return wrong("a backslash at its end");
    const char c = pattern_[at_++];
    if (const auto found = escaped_class(c)) return RegexNode{RegexNode::Kind::kSet, *found};
    const bool is_sign = !range_set('0', '9').test(static_cast<unsigned char>(c)) &&
                         !escaped_class('w')->test(static_cast<unsigned char>(c));
    if (!is_sign && c != '_') return wrong(fmt::format("'\\{}'", c));
    return RegexNode{RegexNode::Kind::kSet,
                     range_set(static_cast<unsigned char>(c), static_cast<unsigned char>(c))};
  }

  Result<RegexNode> bracket() {
    RegexNode out{RegexNode::Kind::kSet};
    const bool is_negated = take('^');
    if (is_at(']')) return wrong("a class without members; write ']' as \\]");
    while (!is_at(']')) {
      if (at_ == pattern_.size()) return wrong("'[' without ']'");
      char low = pattern_[at_++];
      if (low == '[' && is_at(':')) return wrong("'[:'");
      if (low == '\\') {
        if (at_ == pattern_.size()) return wrong("a backslash at its end");
        low = pattern_[at_++];
        if (const auto found = escaped_class(low)) {
          out.set |= *found;
          continue;
        }
        if (escaped_class('w')->test(static_cast<unsigned char>(low))) {
          return wrong(fmt::format("'\\{}' in a class", low));
        }
      }
      char high = low;
      if (is_at('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        high = pattern_[at_ + 1];
        at_ += 2;
      }
      if (static_cast<unsigned char>(low) > static_cast<unsigned char>(high)) {
        return wrong("a range that runs backward");
      }
      out.set |= range_set(static_cast<unsigned char>(low), static_cast<unsigned char>(high));
    }
    ++at_;
    if (is_negated) out.set = ~out.set;
    return out;
  }

  Result<RegexNode> repeated(RegexNode part) {
    RegexNode out{RegexNode::Kind::kRepeat};
    if (take('*')) {
      out.least = 0;
      out.most = kNoLimit;
    } else if (take('+')) {
      out.most = kNoLimit;
    } else if (take('?')) {
      out.least = 0;
    } else if (take('{')) {
      CKPT_TRY(counts(out));
    } else {
      return part;
    }
    if (part.kind == RegexNode::Kind::kBegin || part.kind == RegexNode::Kind::kEnd) {
      return wrong("a repetition of ^ or $");
    }
    take('?');  // a lazy repetition matches the same texts
    if (is_at('*') || is_at('+') || is_at('{')) return wrong("a repetition of a repetition");
    out.parts.push_back(std::move(part));
    return out;
  }

  Status counts(RegexNode& out) {
    CKPT_ASSIGN(out.least, count());
    out.most = out.least;
    if (take(',')) {
      out.most = kNoLimit;
      if (!is_at('}')) CKPT_SET(out.most, count());
    }
    if (!take('}') || out.most < out.least) return wrong("'{' that is not {N}, {N,} or {N,M}");
    return {};
  }

  Result<uint32_t> count() {
    uint32_t value = 0;
    const char* begin = pattern_.data() + at_;
    const auto [end, error] = std::from_chars(begin, pattern_.data() + pattern_.size(), value);
    if (error != std::errc() || value > kMaxRegexStates) {
      return wrong("'{' that is not {N}, {N,} or {N,M}");
    }
    at_ += static_cast<size_t>(end - begin);
    return value;
  }

  // ---- states, from the last to the first ----

  uint32_t add(Regex::State state) {
    out_.states_.push_back(state);
    return static_cast<uint32_t>(out_.states_.size() - 1);
  }

  // Returns the first state of `node`, which continues at `next`.
  Result<uint32_t> build(const RegexNode& node, uint32_t next) {
    if (out_.states_.size() > kMaxRegexStates) return wrong("too large");
    switch (node.kind) {
      case RegexNode::Kind::kSet:
        out_.sets_.push_back(node.set);
        return add({Regex::Kind::kByte, next, 0, static_cast<uint32_t>(out_.sets_.size() - 1)});
      case RegexNode::Kind::kBegin:
        return add({Regex::Kind::kBegin, next, 0, 0});
      case RegexNode::Kind::kEnd:
        return add({Regex::Kind::kEnd, next, 0, 0});
      case RegexNode::Kind::kSequence:
        for (size_t i = node.parts.size(); i-- > 0;) CKPT_SET(next, build(node.parts[i], next));
        return next;
      case RegexNode::Kind::kChoice: return build_choice(node, next);
      case RegexNode::Kind::kRepeat: return build_repeat(node, next);
    }
    return next;
  }

  Result<uint32_t> build_choice(const RegexNode& node, uint32_t next) {
    CKPT_ASSIGN(uint32_t out, build(node.parts.back(), next));
    for (size_t i = node.parts.size() - 1; i-- > 0;) {
      CKPT_ASSIGN(const uint32_t part, build(node.parts[i], next));
      out = add({Regex::Kind::kFork, part, out, 0});
    }
    return out;
  }

  Result<uint32_t> build_repeat(const RegexNode& node, uint32_t next) {
    const RegexNode& part = node.parts[0];
    if (node.most == kNoLimit) {
      const uint32_t fork = add({Regex::Kind::kFork, 0, next, 0});
      CKPT_ASSIGN(const uint32_t body, build(part, fork));
      out_.states_[fork].next = body;
      next = fork;
    } else {
      const uint32_t end = next;
      for (uint32_t i = node.least; i < node.most; ++i) {
        CKPT_ASSIGN(const uint32_t body, build(part, next));
        next = add({Regex::Kind::kFork, body, end, 0});
      }
    }
    for (uint32_t i = 0; i < node.least; ++i) CKPT_SET(next, build(part, next));
    return next;
  }

  std::string_view pattern_;
  size_t at_ = 0;
  Regex out_;
};

Result<Regex> Regex::parse(std::string_view pattern) { return RegexParser(pattern).parse(); }

// Adds the states that are reachable from `state` without reading a byte.
void Regex::follow(uint32_t state, size_t at, size_t size, Front& front) const {
  std::vector<uint32_t> open{state};
  while (!open.empty()) {
    const uint32_t number = open.back();
    open.pop_back();
    if (std::exchange(front.seen[number], at) == at) continue;
    const State& one = states_[number];
    if (one.kind == Kind::kFork) open.push_back(one.other);
    const bool may_pass = one.kind == Kind::kFork || (one.kind == Kind::kBegin && at == 0) ||
                          (one.kind == Kind::kEnd && at == size);
    if (may_pass) open.push_back(one.next);
    if (one.kind == Kind::kByte || one.kind == Kind::kMatch) front.states.push_back(number);
  }
}

bool Regex::is_found_in(std::string_view text) const {
  std::vector<size_t> seen(states_.size(), SIZE_MAX);
  Front now{{}, seen}, then{{}, seen};
  for (size_t at = 0; at <= text.size(); ++at) {
    follow(first_, at, text.size(), now);  // a match may begin here, too
    then.states.clear();
    for (const uint32_t number : now.states) {
      const State& state = states_[number];
      if (state.kind == Kind::kMatch) return true;
      if (at == text.size() || !sets_[state.set].test(static_cast<unsigned char>(text[at]))) {
        continue;
      }
      follow(state.next, at + 1, text.size(), then);
    }
    now.states.swap(then.states);
  }
  return false;
}

}  // namespace ckpt

#include "transforms/lora/module_pattern.h"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace ckpt {
namespace {

constexpr size_t kMaxPatternBytes = 1000;
constexpr uint32_t kMaxPatternDepth = 32, kMaxRepeats = 1000;

using ByteSet = std::bitset<256>;

ByteSet byte_range(unsigned char first, unsigned char last) {
  ByteSet out;
  for (unsigned c = first; c <= last; ++c) out.set(c);
  return out;
}

ByteSet word_byte_set() {
  ByteSet out = byte_range('a', 'z') | byte_range('A', 'Z') | byte_range('0', '9');
  return out.set('_');
}

}  // namespace

// A node takes a set of places in the name, one bit each, to those where it can end. No place is
// tried twice, so no pattern takes exponential time.
struct ModulePattern::Node {
  enum class Kind : uint8_t { kBytes, kStart, kEnd, kSequence, kAlternatives, kRepeat };
  using Places = std::vector<bool>;

  Kind kind = Kind::kSequence;
  ByteSet bytes = {};
  std::vector<Node> parts = {};
  uint32_t least = 1, most = 1;  // of a repetition; 0: without end

  Places walk(std::string_view name, const Places& from) const {
    switch (kind) {
      case Kind::kBytes: {
        Places out(from.size());
        for (size_t i = 0; i < name.size(); ++i) {
          if (from[i] && bytes[static_cast<unsigned char>(name[i])]) out[i + 1] = true;
        }
        return out;
      }
      case Kind::kStart:
      case Kind::kEnd: {
        Places out(from.size());
        const size_t at = kind == Kind::kStart ? 0 : name.size();
        out[at] = from[at];
        return out;
      }
      case Kind::kSequence: {
        Places at = from;
        for (const Node& part : parts) at = part.walk(name, at);
        return at;
      }
      case Kind::kAlternatives: {
        Places out(from.size());
        for (const Node& part : parts) unite(out, part.walk(name, from));
        return out;
      }
      case Kind::kRepeat:
        return repeat(name, from);
    }
    return from;
  }

 private:
  static void unite(Places& into, const Places& other) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = into[i] || other[i];
  }

  Places repeat(std::string_view name, const Places& from) const {
    Places at = from;
    for (uint32_t i = 0; i < least; ++i) at = parts[0].walk(name, at);
    Places out = at;
    for (uint32_t i = least; most == 0 || i < most; ++i) {
      at = parts[0].walk(name, at);
      const Places before = out;
      unite(out, at);
      if (out == before) break;
    }
    return out;
  }
};

namespace {

using PatternNode = ModulePattern::Node;
using NodeKind = ModulePattern::Node::Kind;

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text), rest_(text) {}

  Result<PatternNode> run() {
    CKPT_ASSIGN(PatternNode out, alternatives(0));
    if (!rest_.empty()) return refuse();
    return out;
  }

 private:
  Failure refuse() const {
    return fail(ErrorCode::kUnsupported, "pattern '{}': cannot be read from '{}' on", text_, rest_);
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  static PatternNode of_bytes(const ByteSet& bytes) {
    return {.kind = NodeKind::kBytes, .bytes = bytes};
  }

  Result<PatternNode> alternatives(uint32_t depth) {
    if (depth > kMaxPatternDepth) return refuse();
    PatternNode out{.kind = NodeKind::kAlternatives};
    do {
      CKPT_ASSIGN(PatternNode one, sequence(depth));
      out.parts.push_back(std::move(one));
    } while (take("|"));
    return out;
  }

  Result<PatternNode> sequence(uint32_t depth) {
    PatternNode out;
    while (!rest_.empty() && rest_[0] != '|' && rest_[0] != ')') {
      CKPT_ASSIGN(PatternNode one, atom(depth));
      CKPT_ASSIGN(one, repeated(std::move(one)));
      out.parts.push_back(std::move(one));
    }
    return out;
  }

  Result<PatternNode> atom(uint32_t depth) {
    if (take("(")) {
      if (rest_.starts_with('?') && !take("?:")) return refuse();
      CKPT_ASSIGN(PatternNode inner, alternatives(depth + 1));
      if (!take(")")) return refuse();
      return inner;
    }
    if (take("^")) return PatternNode{.kind = NodeKind::kStart};
    if (take("$")) return PatternNode{.kind = NodeKind::kEnd};
    if (take(".")) return of_bytes(ByteSet().set().reset('\n'));
    if (take("[")) return set_of_bytes();
    CKPT_ASSIGN(const ByteSet bytes, one_byte());
    return of_bytes(bytes);
  }

  // A byte, or a class behind a backslash.
  Result<ByteSet> one_byte() {
    if (rest_.empty() ||
        (rest_[0] != '\\' && std::string_view("*+?{").find(rest_[0]) != rest_.npos)) {
      return refuse();
    }
    if (!take("\\")) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      return ByteSet().set(byte);
    }
    if (rest_.empty()) return refuse();
    const char letter = rest_[0];
    const ByteSet spaces = byte_range('\t', '\r') | ByteSet().set(' ');
    const ByteSet digits = byte_range('0', '9');
    const std::pair<char, ByteSet> classes[] = {{'d', digits},          {'D', ~digits},
                                                {'w', word_byte_set()}, {'W', ~word_byte_set()},
                                                {'s', spaces},          {'S', ~spaces}};
    for (const auto& [name, bytes] : classes) {
      if (letter != name) continue;
      rest_.remove_prefix(1);
      return bytes;
    }
    if (word_byte_set()[static_cast<unsigned char>(letter)]) return refuse();
    rest_.remove_prefix(1);
    return ByteSet().set(static_cast<unsigned char>(letter));
  }

  // The class behind "[".
  Result<PatternNode> set_of_bytes() {
    const bool is_negated = take("^");
    ByteSet out;
    for (bool is_first = true; is_first || !rest_.starts_with(']'); is_first = false) {
      if (rest_.empty()) return refuse();
      const auto low = static_cast<unsigned char>(rest_[0]);
      ByteSet bytes;
      if (low == '\\') {
        CKPT_ASSIGN(bytes, one_byte());
      } else {
        bytes.set(low);
        rest_.remove_prefix(1);
      }
      if (low != '\\' && rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
        const auto high = static_cast<unsigned char>(rest_[1]);
        if (high < low || high == '\\') return refuse();
        bytes = byte_range(low, high);
        rest_.remove_prefix(2);
      }
      out |= bytes;
    }
    rest_.remove_prefix(1);
    return of_bytes(is_negated ? ~out : out);
  }

  std::optional<uint32_t> take_count() {
    uint32_t out = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return out;
  }

  Result<PatternNode> repeated(PatternNode one) {
    PatternNode out{.kind = NodeKind::kRepeat};
    if (take("*")) {
      out.least = out.most = 0;
    } else if (take("+")) {
      out.most = 0;
    } else if (take("?")) {
      out.least = 0;
    } else if (take("{")) {
      const auto least = take_count();
      const bool is_range = take(",");
      const auto most = is_range ? take_count() : least;
      out.least = least.value_or(0);
      out.most = most.value_or(0);
      const bool is_sound = (least || most) && (!most || (*most > 0 && *most >= out.least)) &&
                            std::max(out.least, out.most) <= kMaxRepeats;
      if (!is_sound || !take("}")) return refuse();
    } else {
      return one;
    }
    take("?");  // lazy: the same names match
    if (!rest_.empty() && std::string_view("*+?{").find(rest_[0]) != rest_.npos) return refuse();
    out.parts.push_back(std::move(one));
    return out;
  }

  std::string_view text_, rest_;
};

}  // namespace

Result<ModulePattern> ModulePattern::parse(std::string_view text) {
  if (text.size() > kMaxPatternBytes) {
    return fail(ErrorCode::kUnsupported, "a pattern of {} bytes; expected at most {}", text.size(),
                kMaxPatternBytes);
  }
  CKPT_ASSIGN(Node root, PatternParser(text).run());
  ModulePattern out;
  out.root_ = std::make_shared<const Node>(std::move(root));
  return out;
}

bool ModulePattern::matches(std::string_view module) const {
  Node::Places from(module.size() + 1);
  from[0] = true;
  for (size_t i = 0; i < module.size(); ++i) from[i + 1] = module[i] == '.';
  return root_->walk(module, from)[module.size()];
}

}  // namespace ckpt

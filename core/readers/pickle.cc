#include "core/readers/pickle.h"

#include <bit>
#include <unordered_map>

#include "core/base/find.h"

namespace ckpt {

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, uint64_t start_byte)
      : bytes_(bytes), start_byte_(start_byte) {}

  Result<Pickle> run() {
    while (!stopped_) {
      CKPT_ASSIGN(const uint64_t opcode, number(1));
      CKPT_TRY(step(static_cast<char>(opcode)));
    }
    CKPT_ASSIGN(out_.root_, pop());
    return std::move(out_);
  }

 private:
  using Kind = Pickle::Kind;
  using NodeIndex = Pickle::NodeIndex;

  Failure ends_early() const {
    return corrupt("at byte {}: the pickle ends too early: it is truncated",
                   start_byte_ + bytes_.size());
  }
  Failure bad(std::string_view what) const {
    return corrupt("at byte {}: {} in the pickle", start_byte_ + at_, what);
  }

  // ---- bytes -----------------------------------------------------------------------------------
  Result<std::string_view> take(uint64_t size) {
    if (size > bytes_.size() - at_) return ends_early();
    const std::string_view out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }
  Result<uint64_t> number(size_t size) {
    CKPT_ASSIGN(const std::string_view raw, take(size));
    uint64_t out = 0;
    for (size_t i = 0; i < size; ++i) {
      out |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
    }
    return out;
  }
  Result<std::string_view> line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return ends_early();
    const std::string_view out = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }

  // ---- the stack -------------------------------------------------------------------------------
  Pickle::Node& push(Kind kind) {
    stack_.push_back(static_cast<NodeIndex>(out_.nodes_.size()));
    out_.nodes_.emplace_back().kind = kind;
    return out_.nodes_.back();
  }
  Result<NodeIndex> pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) {
      return bad("nothing to pop");
    }
    const NodeIndex out = stack_.back();
    stack_.pop_back();
    return out;
  }
  Result<std::vector<NodeIndex>> pop_to_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return bad("no mark");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<NodeIndex> out(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return out;
  }
  Result<NodeIndex> top() const {
    if (stack_.empty()) return bad("an empty stack");
    return stack_.back();
  }

  Status push_whole(size_t size, bool is_signed) {
    CKPT_ASSIGN(const uint64_t raw, number(size));
    const bool negative = is_signed && (raw >> (8 * size - 1)) != 0;
    push(Kind::kInt).whole =
        static_cast<int64_t>(negative && size < 8 ? raw | (~uint64_t{0} << (8 * size)) : raw);
    return {};
  }
  Status push_text(size_t length_size, Kind kind) {
    CKPT_ASSIGN(const uint64_t length, number(length_size));
    CKPT_ASSIGN(const std::string_view text, take(length));
    push(kind).text = std::string(text);
    return {};
  }
  Status push_long() {
    CKPT_ASSIGN(const uint64_t size, number(1));
    if (size == 0 || size > 8) {
      CKPT_TRY(take(size));
      push(size == 0 ? Kind::kInt : Kind::kNone);
      return {};
    }
    return push_whole(size, true);
  }
  Status push_float() {
    CKPT_ASSIGN(const std::string_view raw, take(8));
    uint64_t bits = 0;
    for (const char c : raw) bits = bits << 8 | static_cast<uint8_t>(c);
    push(Kind::kFloat).real = std::bit_cast<double>(bits);
    return {};
  }
  Status push_tuple(size_t count) {
    std::vector<NodeIndex> items(count);
    for (size_t i = count; i > 0; --i) {
      CKPT_ASSIGN(items[i - 1], pop());
    }
    push(Kind::kList).items = std::move(items);
    return {};
  }
  Status push_memo(size_t size) {
    CKPT_ASSIGN(const uint64_t key, number(size));
    const auto* found = find_mapped(memo_, key);
    if (found == nullptr) return bad("an unknown memo");
    stack_.push_back(*found);
    return {};
  }
  Status keep_memo(size_t size) {
    CKPT_ASSIGN(const uint64_t key, number(size));
    CKPT_ASSIGN(memo_[key], top());
    return {};
  }
  Status push_name() {
    CKPT_ASSIGN(const std::string_view module, line());
    CKPT_ASSIGN(const std::string_view name, line());
    push(Kind::kName).text = fmt::format("{} {}", module, name);
    return {};
  }
  Status push_stack_name() {
    CKPT_ASSIGN(const NodeIndex name, pop());
    CKPT_ASSIGN(const NodeIndex module, pop());
    // A name consisting of names of names would double with every opcode.
    for (const NodeIndex part : {module, name}) {
      if (out_.nodes_[part].kind != Kind::kText) return bad("a name that is not a text");
    }
    std::string text = out_.nodes_[module].text + " " + out_.nodes_[name].text;
    push(Kind::kName).text = std::move(text);
    return {};
  }

  // Records a call, but never makes it.
  Status push_call() {
    CKPT_ASSIGN(const NodeIndex arguments, pop());
    CKPT_ASSIGN(const NodeIndex callee, pop());
    const std::string& name = out_.nodes_[callee].text;
    if (name == "torch Size" && out_.nodes_[arguments].items.size() == 1) {
      stack_.push_back(out_.nodes_[arguments].items[0]);
    } else if (name == "collections OrderedDict" && out_.nodes_[arguments].items.empty()) {
      push(Kind::kDict);
    } else {
      push(Kind::kCall).items = {callee, arguments};
    }
    return {};
  }
  // Keeps the state of an object as data, because the object is never made.
  Status keep_state() {
    CKPT_ASSIGN(const NodeIndex state, pop());
    CKPT_ASSIGN(const NodeIndex target, top());
    out_.nodes_[target].is_changed = true;
    out_.nodes_[target].state = state;
    return {};
  }
  Status append_items(std::vector<NodeIndex> items, bool in_pairs) {
    CKPT_ASSIGN(const NodeIndex target, top());
    Pickle::Node& node = out_.nodes_[target];
    if (in_pairs && items.size() % 2 != 0) return bad("a key without a value");
    if (node.kind == Kind::kCall) {
      node.is_changed = true;
      return {};
    }
    if (node.kind != (in_pairs ? Kind::kDict : Kind::kList)) return bad("items of no container");
    node.items.insert(node.items.end(), items.begin(), items.end());
    return {};
  }
  Status append_last(size_t count, bool in_pairs) {
    std::vector<NodeIndex> items(count);
    for (size_t i = count; i > 0; --i) {
      CKPT_ASSIGN(items[i - 1], pop());
    }
    return append_items(std::move(items), in_pairs);
  }
  Status append_marked(bool in_pairs) {
    CKPT_ASSIGN(std::vector<NodeIndex> items, pop_to_mark());
    return append_items(std::move(items), in_pairs);
  }
  Status push_marked(Kind kind) {
    CKPT_ASSIGN(std::vector<NodeIndex> items, pop_to_mark());
    if (kind == Kind::kDict && items.size() % 2 != 0) return bad("a key without a value");
    push(kind).items = std::move(items);
    return {};
  }
  Status push_bool(bool value) {
    push(Kind::kBool).whole = value ? 1 : 0;
    return {};
  }
  Status push_empty(Kind kind) {
    push(kind);
    return {};
  }

  Status step(char opcode) {
    switch (opcode) {
      case '\x80':
        return skip(1);  // PROTO
      case '\x95':
        return skip(8);  // FRAME
      case '.':
        stopped_ = true;
        return {};  // STOP
      case '(':
        marks_.push_back(stack_.size());
        return {};  // MARK
      case '0':
        return discard();  // POP
      case '1':
        return discard_marked();  // POP_MARK
      case '}':
        return push_empty(Kind::kDict);  // EMPTY_DICT
      case ']':
      case ')':
      case '\x8f':
        return push_empty(Kind::kList);  // list, tuple, set
      case 'N':
        return push_empty(Kind::kNone);  // NONE
      case '\x88':
        return push_bool(true);  // NEWTRUE
      case '\x89':
        return push_bool(false);  // NEWFALSE
      case 'K':
        return push_whole(1, false);  // BININT1
      case 'M':
        return push_whole(2, false);  // BININT2
      case 'J':
        return push_whole(4, true);  // BININT
      case '\x8a':
        return push_long();  // LONG1
      case 'G':
        return push_float();  // BINFLOAT
      default: return step_text_or_memo(opcode);
    }
  }
  Status step_text_or_memo(char opcode) {
    switch (opcode) {
      case '\x8c':
        return push_text(1, Kind::kText);  // SHORT_BINUNICODE
      case 'X':
        return push_text(4, Kind::kText);  // BINUNICODE
      case '\x8d':
        return push_text(8, Kind::kText);  // BINUNICODE8
      case 'C':
        return push_text(1, Kind::kBytes);  // SHORT_BINBYTES
      case 'B':
        return push_text(4, Kind::kBytes);  // BINBYTES
      case '\x8e':
        return push_text(8, Kind::kBytes);  // BINBYTES8
      case 'q':
        return keep_memo(1);  // BINPUT
      case 'r':
        return keep_memo(4);  // LONG_BINPUT
      case '\x94':
        return memoize();  // MEMOIZE
      case 'h':
        return push_memo(1);  // BINGET
      case 'j':
        return push_memo(4);  // LONG_BINGET
      default: return step_container(opcode);
    }
  }
  Status step_container(char opcode) {
    switch (opcode) {
      case '\x85':
        return push_tuple(1);  // TUPLE1
      case '\x86':
        return push_tuple(2);  // TUPLE2
      case '\x87':
        return push_tuple(3);  // TUPLE3
      case 't':
      case 'l':
        return push_marked(Kind::kList);  // TUPLE, LIST
      case 'd':
        return push_marked(Kind::kDict);  // DICT
      case 'a':
        return append_last(1, false);  // APPEND
      case 'e':
      case '\x90':
        return append_marked(false);  // APPENDS, ADDITEMS
      case 's':
        return append_last(2, true);  // SETITEM
      case 'u':
        return append_marked(true);  // SETITEMS
      case 'c':
        return push_name();  // GLOBAL
      case '\x93':
        return push_stack_name();  // STACK_GLOBAL
      case 'R':
      case '\x81':
        return push_call();  // REDUCE, NEWOBJ
      case 'b':
        return keep_state();  // BUILD
      case 'Q':
        return push_persistent();  // BINPERSID
      default:
        break;
    }
    return unsupported("at byte {}: opcode 0x{:02x} of the pickle is not read", start_byte_ + at_,
                       static_cast<uint8_t>(opcode));
  }

  Status skip(uint64_t size) {
    CKPT_TRY(take(size));
    return {};
  }
  Status discard() {
    CKPT_TRY(pop());
    return {};
  }
  Status discard_marked() {
    CKPT_TRY(pop_to_mark());
    return {};
  }
  Status memoize() {
    CKPT_ASSIGN(memo_[memo_.size()], top());
    return {};
  }
  Status push_persistent() {
    CKPT_ASSIGN(const NodeIndex id, pop());
    push(Kind::kCall).items = {id};
    return {};
  }

  std::string_view bytes_;
  uint64_t start_byte_;
  size_t at_ = 0;
  bool stopped_ = false;
  Pickle out_;
  std::vector<NodeIndex> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, NodeIndex> memo_;
};

Result<Pickle> Pickle::parse(std::string_view bytes, uint64_t start_byte) {
  return PickleMachine(bytes, start_byte).run();
}

template <class IsKey>
const Pickle::Node* Pickle::find_key(const Node& dict, const IsKey& is_key) const {
  if (dict.kind != Kind::kDict) return nullptr;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    if (is_key(nodes_[dict.items[i]])) return &nodes_[dict.items[i + 1]];
  }
  return nullptr;
}

const Pickle::Node* Pickle::find(const Node& dict, std::string_view key) const {
  return find_key(dict,
                  [&](const Node& node) { return node.kind == Kind::kText && node.text == key; });
}

const Pickle::Node* Pickle::find(const Node& dict, int64_t key) const {
  return find_key(dict,
                  [&](const Node& node) { return node.kind == Kind::kInt && node.whole == key; });
}

std::string_view Pickle::made_by(const Node& node) const {
  if (node.kind != Kind::kCall || node.items.size() != 2) return {};
  return nodes_[node.items[0]].text;
}

const Pickle::Node* Pickle::state(const Node& node) const {
  return node.kind == Kind::kCall && node.state ? &nodes_[*node.state] : nullptr;
}

const Pickle::Node* Pickle::field(const Node& node, std::string_view key) const {
  const Node* values = state(node);
  if (values == nullptr) return nullptr;
  const bool has_slots = values->kind == Kind::kList && values->items.size() == 2;
  return find(has_slots ? nodes_[values->items[1]] : *values, key);
}

std::optional<std::vector<uint64_t>> Pickle::numbers(const Node* node, size_t limit) const {
  if (node == nullptr || node->kind != Kind::kList || node->items.size() > limit) return {};
  std::vector<uint64_t> out;
  for (const NodeIndex index : node->items) {
    const Node& each = nodes_[index];
    if (each.kind != Kind::kInt || each.whole < 0) return {};
    out.push_back(static_cast<uint64_t>(each.whole));
  }
  return out;
}

}  // namespace ckpt

#include "core/readers/flat_pickle.h"

#include <algorithm>
#include <map>

#include "core/base/find.h"
#include "core/io/cursor.h"

namespace ckpt {

class FlatPickleMachine {
 public:
  using Item = FlatPickle::Item;
  using Kind = FlatPickle::Kind;
  static constexpr unsigned kMemoIdBits = 28;
  static constexpr size_t kMaxReused = 64;  // items

  FlatPickleMachine(const SharedSource& source, std::span<const FlatPickle::Class> classes)
      : cursor_(source), classes_(classes) {}

  Result<FlatPickle> run() {
    while (!is_stopped_) {
      CKPT_ASSIGN(const uint8_t opcode, cursor_.u8());
      CKPT_TRY(step(opcode));
    }
    CKPT_ASSIGN(out_.root_, pop());
    return std::move(out_);
  }

 private:
  Failure bad(std::string_view what) const {
    return corrupt("at byte {}: {} in the pickle", cursor_.position_bytes(), what);
  }

  // ---- values ----------------------------------------------------------------------------------
  Status push(Item item) {
    stack_.push_back(item);
    return {};
  }
  Status push(Kind kind, uint64_t id = 0) { return push(Item(kind, id)); }
  Result<Item> pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) {
      return bad("nothing to pop");
    }
    const Item out = stack_.back();
    stack_.pop_back();
    return out;
  }
  // Counts the values on the stack since the last mark, which it removes.
  Result<size_t> since_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return bad("no mark");
    const size_t out = stack_.size() - marks_.back();
    marks_.pop_back();
    return out;
  }
  // The last values of the stack, which stay there until drop().
  Result<std::span<const Item>> last(size_t count) const {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor || stack_.size() - floor < count) return bad("nothing to pop");
    return std::span<const Item>(stack_).last(count);
  }
  void drop(size_t count) { stack_.resize(stack_.size() - count); }

  Status push_whole(uint64_t raw, bool is_negative = false) {
    // Numbers in the index are neither negative nor this large.
    if (is_negative || raw > Item::kMaxId) return push(Kind::kOther);
    return push(Kind::kInt, raw);
  }
  Status push_long() {
    CKPT_ASSIGN(const uint8_t size, cursor_.u8());
    if (size > sizeof(uint64_t)) {
      CKPT_TRY(cursor_.skip(size));
      return push(Kind::kOther);
    }
    uint64_t raw = 0;
    for (unsigned i = 0; i < size; ++i) {
      CKPT_ASSIGN(const uint8_t byte, cursor_.u8());
      raw |= uint64_t{byte} << (8 * i);
    }
    return push_whole(raw, size != 0 && (raw >> (8 * size - 1)) != 0);
  }

  Status push_text(uint64_t size) {
    CKPT_ASSIGN(std::string text, cursor_.text(size));
    return push(Kind::kText, text_id(std::move(text)));
  }
  uint64_t text_id(std::string text) {
    if (const uint64_t* known = find_mapped(known_texts_, std::string_view(text))) return *known;
    out_.texts_.push_back(std::move(text));
    return known_texts_.emplace(out_.texts_.back(), out_.texts_.size() - 1).first->second;
  }

  uint64_t numbers_id(const std::vector<uint64_t>& numbers) {
    if (const uint64_t* known = find_mapped(known_numbers_, numbers)) return *known;
    out_.numbers_.push_back(numbers);
    return known_numbers_.emplace(numbers, out_.numbers_.size() - 1).first->second;
  }

  // ---- containers ------------------------------------------------------------------------------
  Item list_of(Kind kind, std::span<const Item> items) {
    if (free_lists_.empty()) {
      free_lists_.push_back(out_.lists_.size());
      out_.lists_.emplace_back();
    }
    const uint64_t id = free_lists_.back();
    free_lists_.pop_back();
    out_.lists_[id].assign(items.begin(), items.end());
    return {kind, id};
  }
  Status push_tuple(size_t count) {
    CKPT_ASSIGN(const std::span<const Item> items, last(count));
    Item out;
    if (items.size() == 1 && items[0].kind() == Kind::kNumbers) {
      out = Item(Kind::kSized, items[0].id());
    } else if (std::ranges::all_of(items, [](Item item) { return item.kind() == Kind::kInt; })) {
      made_numbers_.clear();
      for (const Item item : items) made_numbers_.push_back(item.id());
      out = Item(Kind::kNumbers, numbers_id(made_numbers_));
    } else {
      out = list_of(Kind::kList, items);
    }
    drop(count);
    return push(out);
  }
  Status append(size_t count, Kind kind) {
    CKPT_ASSIGN(const std::span<const Item> items, last(count));
    if (items.size() == stack_.size()) return bad("an empty stack");
    const Item target = stack_[stack_.size() - count - 1];
    CKPT_TRY(append_to(target, items, kind));
    drop(count);
    return {};
  }
  Status append_to(Item target, std::span<const Item> items, Kind kind) {
    if (target.kind() == Kind::kOther || target.kind() == Kind::kObject) return {};
    if (target.kind() != kind) return bad("items of no container");
    if (kind == Kind::kDict && items.size() % 2 != 0) return bad("a key without a value");
    std::vector<Item>& list = out_.lists_[target.id()];
    list.insert(list.end(), items.begin(), items.end());
    return {};
  }

  // ---- objects ---------------------------------------------------------------------------------
  Status push_name() {
    CKPT_ASSIGN(const Item name, pop());
    CKPT_ASSIGN(const Item module, pop());
    if (module.kind() != Kind::kText || name.kind() != Kind::kText) {
      return bad("a name that is not a text");
    }
    return push(Kind::kName, text_id(fmt::format("{} {}", out_.text(module), out_.text(name))));
  }
  Status push_object() {
    CKPT_TRY(pop());  // no arguments
    CKPT_ASSIGN(const Item type, pop());
    const auto* found = find_by(classes_, &FlatPickle::Class::name, out_.text(type));
    if (found == nullptr) return push(Kind::kOther);
    const auto number = static_cast<uint64_t>(found - classes_.data());
    const uint64_t place = out_.fields_.size();
    out_.fields_.resize(place + found->fields.size(), Item(Kind::kNone, 0));
    return push(Kind::kObject, number << FlatPickle::kPlaceBits | place);
  }
  // Makes no call. The arguments of torch.Size are its numbers.
  Status push_call() {
    CKPT_ASSIGN(const Item arguments, pop());
    CKPT_ASSIGN(const Item called, pop());
    const bool is_size = arguments.kind() == Kind::kSized && out_.text(called) == "torch Size";
    if (is_size) return push(Kind::kNumbers, arguments.id());
    return push(Kind::kOther, called.kind() == Kind::kName ? called.id() + 1 : 0);
  }
  Status set_state() {
    CKPT_ASSIGN(const Item state, pop());
    if (stack_.empty()) return bad("an empty stack");
    const Item object = stack_.back();
    const std::span<const Item> items = out_.items(state);
    if (object.kind() == Kind::kObject) {
      const auto& names = classes_[object.id() >> FlatPickle::kPlaceBits].fields;
      const uint64_t place = FlatPickle::place_of(object);
      for (size_t i = 0; state.kind() == Kind::kList && i < std::min(items.size(), names.size());
           ++i) {
        out_.fields_[place + i] = items[i];
      }
      for (size_t i = 0; state.kind() == Kind::kDict && i + 1 < items.size(); i += 2) {
        const auto name = std::ranges::find(names, out_.text(items[i]));
        if (name == names.end()) continue;
        out_.fields_[place + static_cast<uint64_t>(name - names.begin())] = items[i + 1];
      }
    }
    if (state.kind() == Kind::kDict) release(state);
    return {};
  }
  // The memo never returns dicts, so nothing refers to a dict after it became a state.
  void release(Item state) {
    std::vector<Item>& items = out_.lists_[state.id()];
    items.clear();
    if (items.capacity() > kMaxReused) items.shrink_to_fit();
    free_lists_.push_back(state.id());
  }

  // ---- the memo --------------------------------------------------------------------------------
  // An index has twenty values to remember for each chunk, so each takes four bytes: the kind and
  // class above kMemoIdBits, and the number.
  Status memoize() {
    if (stack_.empty()) return bad("an empty stack");
    const Item item = stack_.back();
    const bool is_object = item.kind() == Kind::kObject;
    const uint64_t id = is_object ? FlatPickle::place_of(item) : item.id();
    const uint64_t kind = static_cast<uint64_t>(item.kind()) +
                          (is_object ? item.id() >> FlatPickle::kPlaceBits : 0);
    if (id >> kMemoIdBits != 0 || kind >> (32 - kMemoIdBits) != 0) {
      return unsupported("more values than are read");
    }
    memo_.push_back(static_cast<uint32_t>(kind << kMemoIdBits | id));
    return {};
  }
  Status push_memo(uint64_t number) {
    if (number >= memo_.size()) return bad("an unknown memo");
    const uint64_t kind = memo_[number] >> kMemoIdBits;
    const uint64_t id = memo_[number] & ((uint32_t{1} << kMemoIdBits) - 1);
    constexpr auto kObjects = static_cast<uint64_t>(Kind::kObject);
    if (kind > kObjects) {
      return push(Kind::kObject, (kind - kObjects) << FlatPickle::kPlaceBits | id);
    }
    const Item item(static_cast<Kind>(kind), id);
    return push(item.kind() == Kind::kDict ? Item() : item);
  }

  // ---- opcodes ---------------------------------------------------------------------------------
  Status step(uint8_t opcode) {
    switch (opcode) {
      case 0x80: return cursor_.skip(1);           // PROTO
      case 0x95: return cursor_.skip(8);           // FRAME
      case '.': return stop();                     // STOP
      case 0x94: return memoize();                 // MEMOIZE
      case '(': return mark();                     // MARK
      case ')': return push_tuple(0);                     // EMPTY_TUPLE
      case ']': return push(list_of(Kind::kList, {}));  // EMPTY_LIST
      case '}': return push(list_of(Kind::kDict, {}));  // EMPTY_DICT
      case 'N': return push(Kind::kNone);          // NONE
      case 0x88:
      case 0x89: return push(Kind::kOther);        // NEWTRUE, NEWFALSE
      case 0x93: return push_name();               // STACK_GLOBAL
      case 0x81: return push_object();             // NEWOBJ
      case 'R': return push_call();                // REDUCE
      case 'b': return set_state();                // BUILD
      default: return step_number(opcode);
    }
  }
  Status step_number(uint8_t opcode) {
    switch (opcode) {
      case 'K': return with_number<uint8_t>([&](uint64_t raw) { return push_whole(raw); });
      case 'M': return with_number<uint16_t>([&](uint64_t raw) { return push_whole(raw); });
      case 'J':  // BININT
        return with_number<uint32_t>(
            [&](uint64_t raw) { return push_whole(raw, raw > INT32_MAX); });
      case 0x8a: return push_long();  // LONG1
      case 'G':
        CKPT_TRY(cursor_.skip(sizeof(double)));
        return push(Kind::kOther);  // BINFLOAT
      case 'h': return with_number<uint8_t>([&](uint64_t raw) { return push_memo(raw); });
      case 'j': return with_number<uint32_t>([&](uint64_t raw) { return push_memo(raw); });
      case 0x8c: return with_number<uint8_t>([&](uint64_t raw) { return push_text(raw); });
      case 'X': return with_number<uint32_t>([&](uint64_t raw) { return push_text(raw); });
      case 'C': return with_number<uint8_t>([&](uint64_t raw) { return push_bytes(raw); });
      case 'B': return with_number<uint32_t>([&](uint64_t raw) { return push_bytes(raw); });
      default: return step_container(opcode);
    }
  }
  Status step_container(uint8_t opcode) {
    switch (opcode) {
      case 0x85:
      case 0x86:
      case 0x87: return push_tuple(opcode - 0x84u);
      case 't': return to_mark([&](size_t count) { return push_tuple(count); });  // TUPLE
      case 'a': return append(1, Kind::kList);                                    // APPEND
      case 'e':                                                                   // APPENDS
        return to_mark([&](size_t count) { return append(count, Kind::kList); });
      case 's': return append(2, Kind::kDict);  // SETITEM
      case 'u':                                 // SETITEMS
        return to_mark([&](size_t count) { return append(count, Kind::kDict); });
      default: break;
    }
    return unsupported("at byte {}: opcode 0x{:02x} of the pickle is not read",
                       cursor_.position_bytes(), opcode);
  }

  template <class T, class Use>
  Status with_number(const Use& use) {
    if constexpr (sizeof(T) == 1) {
      CKPT_ASSIGN(const uint8_t raw, cursor_.u8());
      return use(raw);
    } else if constexpr (sizeof(T) == 2) {
      CKPT_ASSIGN(const uint16_t raw, cursor_.u16());
      return use(raw);
    } else {
      CKPT_ASSIGN(const uint32_t raw, cursor_.u32());
      return use(raw);
    }
  }
  template <class Use>
  Status to_mark(const Use& use) {
    CKPT_ASSIGN(const size_t count, since_mark());
    return use(count);
  }
  Status push_bytes(uint64_t size) {
    CKPT_TRY(cursor_.skip(size));
    return push(Kind::kOther);
  }
  Status stop() {
    is_stopped_ = true;
    return {};
  }
  Status mark() {
    marks_.push_back(stack_.size());
    return {};
  }

  Cursor cursor_;
  std::span<const FlatPickle::Class> classes_;
  FlatPickle out_;
  bool is_stopped_ = false;
  std::vector<Item> stack_;
  std::vector<size_t> marks_;
  std::deque<uint32_t> memo_;
  std::vector<uint64_t> made_numbers_;
  std::vector<uint64_t> free_lists_;
  std::unordered_map<std::string_view, uint64_t> known_texts_;
  std::map<std::vector<uint64_t>, uint64_t> known_numbers_;
};

Result<FlatPickle> FlatPickle::parse(const SharedSource& source, std::span<const Class> classes) {
  return FlatPickleMachine(source, classes).run();
}

bool FlatPickle::is_object(Item item, size_t number) const {
  return item.kind() == Kind::kObject && item.id() >> kPlaceBits == number;
}

std::span<const FlatPickle::Item> FlatPickle::items(Item item) const {
  if (item.kind() != Kind::kList && item.kind() != Kind::kDict) return {};
  return lists_[item.id()];
}

std::string_view FlatPickle::called(Item item) const {
  if (item.kind() != Kind::kOther || item.id() == 0) return {};
  return texts_[item.id() - 1];
}

std::string_view FlatPickle::text(Item item) const {
  const bool is_text = item.kind() == Kind::kText || item.kind() == Kind::kName;
  return is_text ? std::string_view(texts_[item.id()]) : std::string_view();
}

const std::vector<uint64_t>* FlatPickle::numbers(Item item) const {
  return item.kind() == Kind::kNumbers ? &numbers_[item.id()] : nullptr;
}

FlatPickle::Item FlatPickle::find(Item dict, std::string_view key) const {
  const std::span<const Item> pairs = items(dict);
  for (size_t i = 0; dict.kind() == Kind::kDict && i + 1 < pairs.size(); i += 2) {
    if (text(pairs[i]) == key) return pairs[i + 1];
  }
  return {};
}

}  // namespace ckpt

// Reads a pickle with millions of objects of a few classes. An object takes about 250 bytes of
// memory; as nodes of Pickle (pickle.h) it would take thousands.
//
//   NEWOBJ, a dict, BUILD  ──▶  the fields that the caller asks for, 8 bytes each
//   (7, 16), torch.Size    ──▶  a number; equal lists have the same number
//   texts, names           ──▶  a number; equal texts have the same number
//
// As in Pickle, nothing is built or executed. Objects of other classes and calls are kOther. The
// file is read through a window. The memory of a dict is reused once it became the state of an
// object.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/io/bytes.h"

namespace ckpt {

class FlatPickle {
 public:
  // A class, named as in "torch.distributed.checkpoint.metadata MetadataIndex", and the fields to
  // keep. If a class pickles its state as a tuple, `fields` names the items of that tuple in order.
  struct Class {
    std::string_view name;
    std::span<const std::string_view> fields;
  };
  enum class Kind : uint8_t {
    kOther,
    kNone,
    kInt,
    kText,
    kName,     // of a class or function
    kNumbers,  // a list or tuple of whole numbers >= 0
    kSized,    // a tuple with one kNumbers: the arguments of torch.Size
    kList,     // also tuples
    kDict,     // key, value, key, value
    kObject,
  };
  // A value. The kind determines the meaning of the number.
  class Item {
   public:
    Item() = default;
    Item(Kind kind, uint64_t id) : bits_(static_cast<uint64_t>(kind) << kIdBits | id) {}
    Kind kind() const { return static_cast<Kind>(bits_ >> kIdBits); }
    uint64_t id() const { return bits_ & kMaxId; }
    static constexpr unsigned kIdBits = 60;
    static constexpr uint64_t kMaxId = (uint64_t{1} << kIdBits) - 1;

   private:
    uint64_t bits_ = 0;
  };

  // Fails: kCorrupt: truncated, pops from an empty stack; kUnsupported: an unknown opcode; kIo.
  static Result<FlatPickle> parse(const SharedSource& source, std::span<const Class> classes);

  Item root() const { return root_; }
  // Whether `item` is an object of classes[number], and the value of its field at this position.
  bool is_object(Item item, size_t number) const;
  Item field(Item object, size_t number) const { return fields_[place_of(object) + number]; }
  // The items of a kList or kDict; empty for other kinds.
  std::span<const Item> items(Item item) const;
  std::string_view text(Item item) const;                   // for kText and kName; empty for others
  std::string_view called(Item item) const;                 // by a call that is kOther; or empty
  const std::vector<uint64_t>* numbers(Item item) const;    // for kNumbers; nullptr for others
  // The value of a text key in a dict; kOther if it is absent.
  Item find(Item dict, std::string_view key) const;

 private:
  friend class FlatPickleMachine;
  static constexpr unsigned kPlaceBits = 48;  // place bits in an object's id; the class is above
  static uint64_t place_of(Item object) {
    return object.id() & ((uint64_t{1} << kPlaceBits) - 1);
  }

  Item root_;
  std::deque<Item> fields_;
  std::deque<std::vector<Item>> lists_;  // for kList and kDict
  std::deque<std::string> texts_;        // for kText and kName
  std::deque<std::vector<uint64_t>> numbers_;
};

}  // namespace ckpt

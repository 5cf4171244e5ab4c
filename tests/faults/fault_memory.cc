// Memory and threads that run out at the n-th request (fault_counting.h).
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "tests/faults/fault_counting.h"

using namespace ckpt_fault;

extern "C" {
void* __libc_malloc(size_t size);
void* malloc(size_t size) {
  if (ready && meet(kMalloc) == FaultOutcome::kError) return nullptr;
  return __libc_malloc(size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*),
                   void* argument) {
  using Create = decltype(::pthread_create);
  static auto* const real = reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (ready && meet(kThread) == FaultOutcome::kError) return errno;
  return real(thread, how, run, argument);
}

}  // extern "C"

// Calls the handler until it gives up, as the language requires of operator new.
static void* new_or_handler(size_t size, size_t alignment) {
  bool fails = ready && meet(kNew) == FaultOutcome::kError;
  for (;; fails = false) {
    const size_t rounded = (size + alignment) / alignment * alignment;
    void* memory = fails            ? nullptr
                   : alignment > 16 ? ::aligned_alloc(alignment, rounded)
                                    : __libc_malloc(size == 0 ? 1 : size);
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void* operator new(size_t size) { return new_or_handler(size, 16); }
void* operator new[](size_t size) { return new_or_handler(size, 16); }
void* operator new(size_t size, std::align_val_t alignment) {
  return new_or_handler(size, static_cast<size_t>(alignment));
}

// ckpt: converts and patches LLM checkpoints. Reads the command line and runs one command.
#include <fcntl.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/threads.h"
#include "core/base/trace.h"
#include "core/base/url_secrets.h"
#include "core/io/files_read.h"
#include "core/simd/dispatch.h"
#include "remote/remote.h"
#include "tools/line/command_line.h"
#include "tools/line/commands.h"
#include "tools/line/habits.h"
#include "tools/line/help.h"
#include "tools/say/console.h"

namespace ckpt {

namespace {

// Whether writing a line would block neither on the reader nor on another thread.
bool is_free(std::FILE* stream) {
  pollfd ready = {::fileno(stream), POLLOUT, 0};
  return ::ftrylockfile(stream) == 0 && ::poll(&ready, 1, 0) == 1;
}

// The text that a second signal prints before it ends the program; null: none, or already printed.
std::atomic<const char*> last_words{nullptr};

// Ends the program within a second of SIGINT or SIGTERM, even when a system call, the planning or
// the printing takes longer: a conversion can be resumed from any moment, as after kill -9.
class InterruptGuard {
 public:
  // `hint`: the command to run after an interruption; may be empty.
  InterruptGuard(const Console& console, std::string hint)
      : console_(console),
        hint_(std::move(hint)),
        line_(fmt::format("{}ckpt: interrupted{}{}\n",
                          console.progress() == ProgressMode::kDrawn ? "\r\x1b[K" : "",
                          hint_.empty() ? "" : ". Try: ", hint_)),
        threads_(start_threads(1, [this] { run(); })) {
    last_words = line_.c_str();
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard() {  // the work is over, so the guard must no longer end it
    last_words = nullptr;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  bool is_over_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return over_; });
  }

  void run() {
    constexpr std::chrono::milliseconds kLook{20}, kGrace{600};
    while (!interrupted) {
      if (is_over_within(kLook)) return;
    }
    if (is_over_within(kGrace)) return;
    last_words = nullptr;
    if (is_free(stdout) && is_free(stderr)) {
      console_.error({ErrorCode::kInterrupted, {}, "interrupted", hint_});
      std::fflush(stdout);
    }
    std::_Exit(130);
  }

  const Console& console_;
  const std::string hint_, line_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<std::thread> threads_;  // empty if no thread could start: then only the engine checks
};

// Writes directly to stderr, because the console needs memory.
void say(std::string_view sentence) {
  (void)!::write(STDERR_FILENO, sentence.data(), sentence.size());
}

// The second signal ends the program immediately, even if nobody reads its message.
void on_signal(int) {
  if (!interrupted.exchange(true)) return;
  const char* const words = last_words.exchange(nullptr);
  pollfd ready = {STDERR_FILENO, POLLOUT, 0};
  if (words != nullptr && ::poll(&ready, 1, 0) == 1) say(words);
  std::_Exit(130);
}

// Keeps an ignored SIGINT ignored, which a shell sets for background jobs.
void install_handler(int number) {
  if (std::signal(number, SIG_IGN) != SIG_IGN) std::signal(number, on_signal);
}

// Reports that memory is exhausted with a constant sentence, since none can be allocated.
// Incomplete output keeps its temporary name, as after a kill.
[[noreturn]] void out_of_memory() {
  static std::atomic_flag is_said;
  while (is_said.test_and_set()) ::pause();  // another thread reports and exits
  say("ckpt: out of memory. Try: a smaller --memory, or fewer --threads\n");
  std::_Exit(2);
}

// Runs before constructors of global objects, which allocate memory. Large blocks are returned to
// the system when freed; otherwise the C library keeps tens of MiB per thread, and --memory would
// not bound the memory of the process.
__attribute__((constructor(101))) void set_up_memory() {
  std::set_new_handler(out_of_memory);
#ifdef M_MMAP_THRESHOLD
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

// Ends the program if OpenSSL runs out of memory, as it has no such handler itself.
void* reallocate_or_end(void* old, size_t size, const char*, int) {
  void* memory = std::realloc(old, size);
  if (memory == nullptr && size > 0) out_of_memory();
  return memory;
}
void* allocate_or_end(size_t size, const char* file, int line) {
  return reallocate_or_end(nullptr, size, file, line);
}
void release(void* memory, const char*, int) { std::free(memory); }

// Enough stack for the deepest recursion. The C library also sizes thread stacks by this limit.
constexpr rlim_t kMinStackBytes = rlim_t{256} << 10;

// Rejects a small stack limit, which would crash the program at an arbitrary place.
void check_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kMinStackBytes) return;
  say("ckpt: the stack may not grow beyond the limit that is set; expected at least 256 KiB. "
      "Try: ulimit -s 8192\n");
  std::_Exit(2);
}

// Opens /dev/null for closed standard streams. Otherwise a data file could get one of their numbers
// and printed text would overwrite it. I/O on these streams fails as before.
void fill_closed_streams() {
  int number = 0;
  while (number >= 0 && number <= STDERR_FILENO) number = ::open("/", O_PATH);
  if (number >= 0) ::close(number);
}

// Raises the limit of open files: checkpoints may have more shards than the usual limit of 1,024.
void allow_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// The command to run after an interruption.
std::string hint_after_interruption(std::string_view verb) {
  if (verb == "convert" || verb == "execute") {
    return "rerun the same command to resume";
  }
  return verb == "patch" || verb == "set" ? "rerun the same command" : "";
}

Status check_progress(const CommonOptions& options) {
  if (options.progress != "json" || options.json) return {};
  return misuse_hint("--json --progress json",
                     "--progress json: its objects are among those of --json; expected both");
}

// Parses a size option. `bytes` is unchanged if nothing was typed.
Status read_size(std::string_view option, const std::string& typed, uint64_t& bytes) {
  if (typed.empty()) return {};
  CKPT_ASSIGN(bytes, in(option, parse_size(typed)));
  return {};
}

// Applies the limits that every command accepts.
Status set_limits(CommonOptions& options) {
  uint64_t rate = 0;
  CKPT_TRY(read_size("--memory", options.typed_memory, options.memory_bytes));
  CKPT_TRY(read_size("--limit-rate", options.typed_limit_rate, rate));
  set_rate_limit(rate);
  CKPT_TRY(check_simd_environment());
  return check_progress(options);
}

int run_command(const Verb& verb, CommonOptions& options) {
  const Console console(options);
  const InterruptGuard guard(console, hint_after_interruption(verb.command->name));
  const auto code = set_limits(options).and_then([&] { return verb.run(console, options); });
  if (!code) last_words = nullptr;
  if (!code) console.error(code.error());
  std::fflush(stdout);  // while the guard runs, because the reader may block us
  return code ? *code : exit_code(code.error());
}

// Whether `descriptor` is a pipe without a reader.
bool reader_left(int descriptor) {
  pollfd stream{descriptor, 0, 0};
  return ::poll(&stream, 1, 0) == 1 && (stream.revents & (POLLERR | POLLHUP)) != 0;
}

// Reports a failed write to stdout. A reader that closed the pipe early (ckpt show ... | head) is
// not an error, and the exit code stays the same.
int answered(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (reader_left(STDOUT_FILENO)) return code;
  say("ckpt: cannot write to stdout\n");
  return 2;
}

// Writes the trace that CKPT_TRACE=FILE asks for when the command has ended.
class TraceFile {
 public:
  // Returns false, after a message, if FILE exists (even as a link) or cannot be created.
  bool open() {
    const char* path = std::getenv("CKPT_TRACE");
    if (path == nullptr) return true;
    if (*path == '\0') {
      fmt::print(stderr, "ckpt: CKPT_TRACE: an empty value. Try: unset CKPT_TRACE\n");
      return false;
    }
    file_.reset(std::fopen(path, "wxe"));
    if (file_ != nullptr) {
      Trace::start();
      return true;
    }
    fmt::print(stderr, "ckpt: CKPT_TRACE: {}: {}. Try: the path of a new file\n", shell_path(path),
               std::strerror(errno));
    return false;
  }
  // Returns false, after a message, if the trace cannot be written.
  bool write() {
    if (file_ == nullptr) return true;
    const std::string text = Trace::json();
    const bool is_whole = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
    if (std::fclose(file_.release()) == 0 && is_whole) return true;
    fmt::print(stderr, "ckpt: CKPT_TRACE: cannot write the trace\n");
    return false;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
};

bool is_command(std::string_view word) {
  return word.starts_with('-') ||
         std::ranges::find(all_commands(), word, &Command::name) != all_commands().end();
}

// Prints the help of `ckpt` alone and of `ckpt help WORD` (topic, step, type, check or profile).
int print_help(const std::vector<std::string>& typed) {
  const size_t width = help_width();
  const auto text =
      typed.empty() ? Result<std::string>(help_of_program(width)) : help_of_word(typed[1], width);
  if (!text) Console(CommonOptions()).error(text.error());
  if (text) std::fwrite(text->data(), 1, text->size(), stdout);
  return text ? 0 : 2;
}

int run(int argc, char** argv) {
  const std::vector<std::string> typed(argv + 1, argv + argc);
  if (!typed.empty() && typed[0] == kCompleteWord) {
    const std::string words = completions(std::span(typed).subspan(1));
    std::fwrite(words.data(), 1, words.size(), stdout);
    return 0;
  }
  for (const std::string& word : typed) {  // checked before messages repeat the words
    const Status checked = refuse_url_secrets(word);
    if (checked) continue;
    CommonOptions options;
    options.json = std::ranges::find(typed, "--json") != typed.end();
    Console(options).error(checked.error());
    return 2;
  }
  const bool asks_word = typed.size() == 2 && typed[0] == "help" && !is_command(typed[1]);
  const bool asks_itself = asks_word && typed[1] == "help";
  if (typed.empty() || asks_itself) return print_help({});
  if (asks_word) return print_help(typed);
  TraceFile trace;
  if (!trace.open()) return 2;
  const FilesRead files_read;
  open_urls();
  const std::vector<std::string> words = in_own_words(typed);
  CommonOptions options;
  options.command = "ckpt";
  for (const std::string& word : typed) options.command += " " + shell_word(word);
  const auto verb =
      check_help_words(typed).and_then([&] { return parse_command_line(words, options); });
  if (!verb) {
    options.json = std::ranges::find(words, "--json") != words.end();
    Console(options).error(verb.error());
    return 2;
  }
  const int code = *verb ? run_command(**verb, options) : 0;
  return trace.write() || code != 0 ? code : 2;
}

}  // namespace
}  // namespace ckpt

int main(int argc, char** argv) {
  ckpt::fill_closed_streams();
  ckpt::check_stack();
  ckpt::allow_open_files();
  CRYPTO_set_mem_functions(ckpt::allocate_or_end, ckpt::reallocate_or_end, ckpt::release);
#ifdef CKPT_STATIC
  // OpenSSL's system configuration may load modules built for another OpenSSL or C library.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
#endif
  // Writing to a closed pipe fails instead of ending the program, so work and exit code are right.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails and is reported
  std::signal(SIGCHLD, SIG_DFL);  // if ignored, exit states of child processes would be lost
  ckpt::install_handler(SIGINT);
  ckpt::install_handler(SIGTERM);
  return ckpt::answered(ckpt::run(argc, argv));
}

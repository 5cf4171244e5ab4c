// A server on 127.0.0.1 that answers each request with the next of some texts, one connection each.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "remote/url.h"

namespace ckpt {

// So many bytes of an answer at a time, with a pause before each.
struct SlowBody {
  size_t at_once = 0;  // 0: all of the answer
  std::chrono::milliseconds pause{};
};

class ScriptedServer {
 public:
  // An answer that is "" is a connection closed without a word. The last one is repeated.
  explicit ScriptedServer(std::vector<std::string> answers, SlowBody drip = {})
      : answers_(std::move(answers)), drip_(drip) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
    if (::listen(socket_, 16) != 0) std::abort();
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

  Url url(const std::string& path) const { return *parse_url(origin() + path); }
  std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Heads and bodies of all requests so far.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (size_t number = 0;; ++number) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      std::string request;
      char block[4096];
      while (!is_whole(request)) {
        const ssize_t got = ::recv(client, block, sizeof block, 0);
        if (got <= 0) break;
        request.append(block, static_cast<size_t>(got));
      }
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      const std::string& answer = answers_[std::min(number, answers_.size() - 1)];
      send_all(client, answer);
      ::close(client);
    }
  }
  // Sends the answer piece by piece, and stops when the client closes the connection.
  void send_all(int client, const std::string& answer) const {
    const size_t step = drip_.at_once == 0 ? answer.size() : drip_.at_once;
    for (size_t at = 0; at < answer.size(); at += step) {
      std::this_thread::sleep_for(drip_.pause);
      const size_t count = std::min(step, answer.size() - at);
      if (::send(client, answer.data() + at, count, MSG_NOSIGNAL) < 0) return;
    }
  }
  static bool is_whole(const std::string& request) {
    const size_t end = request.find("\r\n\r\n");
    const size_t length = request.find("Content-Length: ");
    if (end == request.npos) return false;
    return length > end || request.size() >= end + 4 + std::stoul(request.substr(length + 16));
  }

  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  uint16_t port_ = 0;
  const std::vector<std::string> answers_;
  const SlowBody drip_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

// "HTTP/1.1 STATUS\r\nHEADERS\r\nContent-Length: ...\r\n\r\nBODY"; each header ends with "\r\n".
inline std::string scripted(const std::string& status, const std::string& headers,
                            const std::string& body = {}) {
  return "HTTP/1.1 " + status + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace ckpt

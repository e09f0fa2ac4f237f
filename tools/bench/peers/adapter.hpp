// The near side of the benchmark's control protocol for adapters in C++. tools/adapter is the same in Rust; what is
// measured must be the same in both. docs/benchmarks.md describes the protocol.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bench {

inline uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

// Writes one payload; throws what the implementation says.
using Write = std::function<void(const uint8_t *, size_t)>;
// What to do with a payload that arrives.
using OnPayload = std::function<void(const uint8_t *, size_t, const Write &)>;

struct Open {
    uint32_t domain = 0;
    std::vector<std::string> writes, reads;
    // Octets of what is written and of what arrives.
    size_t payload = 0, arriving = 0;
    bool reliable = true;
    // 0 for all.
    int keep_last = 0;
    // The interface, the address of this host on it, and that of the other host.
    std::string interface, address, peer;
    std::map<std::string, std::string> options;

    std::string option(const std::string &name, const std::string &fallback) const {
        auto found = options.find(name);
        return found == options.end() ? fallback : found->second;
    }
};

class Session {
public:
    virtual ~Session() = default;
    // How many remote endpoints the least matched endpoint has found.
    virtual size_t matched() = 0;
    virtual void write(const uint8_t *payload, size_t size) = 0;
    virtual void flush() {}
};

struct Implementation {
    std::string name, version;
    // Of intra-process, two-hosts, reliable, best-effort, many-topics, many-readers: what it can do.
    std::string can;
    // How a side waits for data (blocks, spins, or when which) with these options, and how what is measured was built.
    std::function<std::string(const std::map<std::string, std::string> &options)> waits = [](const auto &) {
        return std::string("blocks");
    };
    std::string built;
    // The options it knows.
    std::vector<std::string> options;
    std::function<std::unique_ptr<Session>(const Open &, OnPayload)> open;
};

class Line {
public:
    explicit Line(const std::string &text) {
        std::istringstream words(text);
        words >> word;
        for (std::string pair; words >> pair;) {
            auto cut = pair.find('=');
            if (cut == std::string::npos) throw std::runtime_error("'" + pair + "' is not name=value");
            pairs[pair.substr(0, cut)] = unescape(pair.substr(cut + 1));
        }
    }
    const std::string &text(const std::string &name) const {
        auto found = pairs.find(name);
        if (found == pairs.end()) throw std::runtime_error(word + ": " + name + " is missing");
        return found->second;
    }
    std::string text_or(const std::string &name, const std::string &fallback) const {
        auto found = pairs.find(name);
        return found == pairs.end() ? fallback : found->second;
    }
    int64_t number(const std::string &name) const { return std::stoll(text(name)); }
    // The options of the implementation.
    std::map<std::string, std::string> options() const {
        std::map<std::string, std::string> found;
        for (const auto &pair : pairs)
            if (pair.first.rfind("x.", 0) == 0) found[pair.first.substr(2)] = pair.second;
        return found;
    }

    std::string word;
    std::map<std::string, std::string> pairs;

private:
    static std::string unescape(const std::string &value) {
        std::string text;
        for (size_t at = 0; at < value.size(); ++at) {
            if (value[at] == '%' && at + 2 < value.size()) {
                text += static_cast<char>(std::stoi(value.substr(at + 1, 2), nullptr, 16));
                at += 2;
            } else {
                text += value[at];
            }
        }
        return text;
    }
};

inline std::string escape(const std::string &value) {
    std::string text;
    char code[8];
    for (char c : value) {
        if (c == '%' || c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
            text += code;
        } else {
            text += c;
        }
    }
    return text;
}

inline void dump(const std::string &file, const std::vector<uint64_t> &nanos) {
    // Eight octets each, little-endian, as is the memory of the machines this is built for.
    FILE *out = std::fopen(file.c_str(), "wb");
    if (!out) throw std::runtime_error("cannot write " + file);
    size_t written = std::fwrite(nanos.data(), sizeof(uint64_t), nanos.size(), out);
    std::fclose(out);
    if (written != nanos.size()) throw std::runtime_error("cannot write all of " + file);
}

// Measures round trips: each pong is followed by the next ping on the thread that received it.
class Pinger {
public:
    explicit Pinger(size_t size) : ping(size, 0x5A) {}

    void on_payload(const Write &write) {
        uint64_t arrived = now();
        std::unique_lock<std::mutex> lock(mutex);
        if (left == 0) return;
        if (warm_up > 0) {
            --warm_up;
        } else {
            nanos.push_back(arrived - written_at);
        }
        if (--left == 0 || by_turns) {
            done.notify_all();
            return;
        }
        written_at = now();
        lock.unlock();
        try {
            write(ping.data(), ping.size());
        } catch (const std::exception &error) {
            lock.lock();
            failure = error.what();
            done.notify_all();
        }
    }

    // By turns, the thread that plays writes every ping: an implementation that delivers within a process on the thread
    // that writes would otherwise call itself ever deeper.
    std::vector<uint64_t> play(Session &session, size_t warm, size_t count, int64_t patience_ms, bool turns) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            left = warm + count;
            warm_up = warm;
            nanos.clear();
            nanos.reserve(count);
            failure.clear();
            by_turns = turns;
        }
        std::unique_lock<std::mutex> lock(mutex);
        bool is_first = true;
        while (left > 0 && failure.empty()) {
            size_t before = left;
            if (turns || is_first) {
                is_first = false;
                written_at = now();
                lock.unlock();
                session.write(ping.data(), ping.size());
                session.flush();
                lock.lock();
            }
            if (left == before) done.wait_for(lock, std::chrono::milliseconds(patience_ms));
            if (left == before) {
                left = 0;
                throw std::runtime_error("a ping got no pong within " + std::to_string(patience_ms) + " ms, " +
                                         std::to_string(before) + " were still to come");
            }
        }
        if (!failure.empty()) throw std::runtime_error("writing a ping: " + failure);
        return nanos;
    }

private:
    const std::vector<uint8_t> ping;
    std::mutex mutex;
    std::condition_variable done;
    size_t left = 0, warm_up = 0;
    bool by_turns = false;
    uint64_t written_at = 0;
    std::vector<uint64_t> nanos;
    std::string failure;
};

struct Seen {
    uint64_t samples = 0, octets = 0, out_of_order = 0, next = 0, first = 0, last = 0;
    std::vector<uint64_t> delays;
};

class Sink {
public:
    void on_payload(const uint8_t *payload, size_t size) {
        constexpr size_t max_delays = 4000000;
        std::lock_guard<std::mutex> lock(mutex);
        seen.last = now();
        if (seen.samples++ == 0) seen.first = seen.last;
        seen.octets += size;
        uint64_t word = 0;
        if (size >= 8) {
            std::memcpy(&word, payload, 8);
            seen.out_of_order += word != seen.next;
            seen.next = word + 1;
        }
        if (size >= 16 && seen.delays.size() < max_delays) {
            std::memcpy(&word, payload + 8, 8);
            if (word != 0) seen.delays.push_back(seen.last > word ? seen.last - word : 0);
        }
    }
    Seen take(bool reset) {
        std::lock_guard<std::mutex> lock(mutex);
        Seen copy = seen;
        if (reset) seen = Seen();
        return copy;
    }

private:
    std::mutex mutex;
    Seen seen;
};

struct Side {
    std::unique_ptr<Session> session;
    size_t payload = 0;
    std::shared_ptr<Pinger> pinger;
    std::shared_ptr<Sink> sink;
    bool is_source = false;
};

// When samples are due, nanoseconds from the beginning: evenly, or by chance (exponential, as independent events have
// it, and the same for every implementation); at once without a rate.
class Dues {
public:
    Dues(uint64_t rate, bool chance) : gap(rate == 0 ? 0.0 : 1.0 / static_cast<double>(rate)), by_chance(chance) {}

    uint64_t next() {
        const auto due = static_cast<uint64_t>(std::llround(seconds * 1e9));
        seconds += by_chance ? exponential() * gap : gap;
        return due;
    }

private:
    // Of exponential distribution with mean 1, from comparisons alone (von Neumann, 1951), as in tools/adapter: implementations are
    // compared with the same sequence.
    double exponential() {
        for (double whole = 0.0;; whole += 1.0) {
            const double first = chance();
            double last = first;
            bool odd = true;
            for (double next = chance(); next <= last; next = chance()) {
                last = next;
                odd = !odd;
            }
            if (odd) return whole + first;
        }
    }

    double chance() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<double>((state >> 11) + 1) / 9007199254740992.0;
    }

    const double gap;
    const bool by_chance;
    double seconds = 0.0;
    uint64_t state = 0x9E3779B97F4A7C15u;
};

class Adapter {
public:
    explicit Adapter(Implementation of) : implementation(std::move(of)) {}

    std::string obey(const Line &line) {
        if (line.word == "hello") {
            only(line.options(), implementation.options);
            return "hello name=" + escape(implementation.name) + " version=" + escape(implementation.version) +
                   " can=" + implementation.can + " waits=" + escape(implementation.waits(line.options())) +
                   " built=" + escape(implementation.built);
        }
        if (line.word == "open") return open(line);
        if (line.word == "await") return await(line);
        if (line.word == "ping") return ping(line);
        if (line.word == "blast") return blast(line);
        if (line.word == "count") return count(line);
        if (line.word == "close") {
            sides.clear();
            return "closed";
        }
        throw std::runtime_error(line.word + " is no command");
    }

private:
    static uint64_t micros_since(uint64_t begin) { return (now() - begin) / 1000; }

    static void only(const std::map<std::string, std::string> &options, const std::vector<std::string> &known) {
        std::string all;
        for (const auto &name : known) all += (all.empty() ? "" : ", ") + name;
        for (const auto &pair : options)
            if (std::find(known.begin(), known.end(), pair.first) == known.end())
                throw std::runtime_error("the option " + pair.first + " is unknown; there are: " +
                                         (all.empty() ? "none" : all));
    }

    std::string open(const Line &line) {
        const std::string role = line.text("role");
        const std::string prefix = line.text_or("topic", "Bench");
        auto names = [&](const char *suffix) {
            std::vector<std::string> all;
            for (int64_t n = 0; n < line.number("topics"); ++n) all.push_back(prefix + suffix + std::to_string(n));
            return all;
        };
        Open open;
        open.domain = static_cast<uint32_t>(line.number("domain"));
        const auto payload = static_cast<size_t>(line.number("payload"));
        const auto answer = static_cast<size_t>(std::stoll(line.text_or("answer", std::to_string(payload))));
        open.payload = role == "ponger" ? answer : payload;
        open.arriving = role == "pinger" ? answer : payload;
        open.reliable = line.number("reliable") != 0;
        open.keep_last = static_cast<int>(line.number("keep_last"));
        open.interface = line.text_or("interface", "lo");
        open.address = line.text_or("address", "127.0.0.1");
        open.peer = line.text_or("peer", "127.0.0.1");
        open.options = line.options();
        only(open.options, implementation.options);
        Side side;
        side.payload = open.payload;
        OnPayload on_payload = [answer](const uint8_t *pong, size_t size, const Write &write) {
            write(pong, std::min(size, answer));
        };
        if (role == "pinger") {
            auto pinger = side.pinger = std::make_shared<Pinger>(payload);
            on_payload = [pinger](const uint8_t *, size_t, const Write &write) { pinger->on_payload(write); };
            open.writes = names("Ping");
            open.reads = names("Pong");
        } else if (role == "ponger") {
            open.writes = names("Pong");
            open.reads = names("Ping");
        } else if (role == "source") {
            side.is_source = true;
            open.writes = names("Ping");
        } else if (role == "sink") {
            auto sink = side.sink = std::make_shared<Sink>();
            on_payload = [sink](const uint8_t *payload, size_t size, const Write &) { sink->on_payload(payload, size); };
            open.reads = names("Ping");
        } else {
            throw std::runtime_error(role + " is no role");
        }
        uint64_t begin = now();
        side.session = implementation.open(open, on_payload);
        sides.push_back(std::move(side));
        return "opened micros=" + std::to_string(micros_since(begin));
    }

    std::string await(const Line &line) {
        const auto count = static_cast<size_t>(line.number("count"));
        const uint64_t begin = now();
        for (;;) {
            size_t fewest = sides.empty() ? 0 : SIZE_MAX;
            for (auto &side : sides) fewest = std::min(fewest, side.session->matched());
            if (fewest >= count) return "matched micros=" + std::to_string(micros_since(begin));
            if (micros_since(begin) > static_cast<uint64_t>(line.number("patience_ms")) * 1000)
                throw std::runtime_error("found " + std::to_string(fewest) + " of " + std::to_string(count) + " in time");
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }

    Side &side(const std::function<bool(const Side &)> &is, const char *what) {
        for (auto &side : sides)
            if (is(side)) return side;
        throw std::runtime_error(std::string("nothing is open as ") + what);
    }

    std::string ping(const Line &line) {
        Side &near = side([](const Side &s) { return s.pinger != nullptr; }, "pinger");
        auto nanos = near.pinger->play(*near.session, static_cast<size_t>(line.number("warm_up")),
                                       static_cast<size_t>(line.number("count")), line.number("patience_ms"),
                                       line.number("by_turns") != 0);
        dump(line.text("file"), nanos);
        return "done count=" + std::to_string(nanos.size());
    }

    std::string blast(const Line &line) {
        Side &source = side([](const Side &s) { return s.is_source; }, "source");
        std::vector<uint8_t> payload(source.payload, 0);
        const uint64_t begin = now(), end = begin + static_cast<uint64_t>(line.number("millis")) * 1000000u;
        const auto most = static_cast<uint64_t>(line.number("count"));
        Dues dues(static_cast<uint64_t>(line.number("rate")), line.number("by_chance") != 0);
        uint64_t written = 0, refused = 0, late = 0;
        // How long calls took, of samples that are not small: mean, and sum of the squares of what they differ from it by. The
        // first ones fill what lies between both sides, and return at once.
        constexpr uint64_t filling = 8;
        double mean = 0, squares = 0;
        // At full speed the clock is read for some of the small samples only, because reading it for each would be a good
        // part of what is measured; then they carry no time.
        const bool at_rate = line.number("rate") != 0;
        const uint64_t look_every = at_rate || payload.size() > 1024 ? 1 : 16;
        while (written < most && (written % look_every != 0 || now() < end)) {
            // A sample that was due while the call before it went on carries the time when it was due: otherwise nobody would see
            // what waits where an implementation holds its writer up (coordinated omission).
            uint64_t stamp = 0;
            if (at_rate) {
                const uint64_t due = begin + dues.next(), time = now();
                if (due >= end) break;
                if (due < time) {
                    late += time - due > close;
                    stamp = due;
                } else {
                    wait_until(due);
                    stamp = now();
                }
            }
            if (payload.size() >= 8) std::memcpy(payload.data(), &written, 8);
            if (payload.size() >= 16) std::memcpy(payload.data() + 8, &stamp, 8);
            const bool timed = payload.size() > 1024;
            const uint64_t begun = timed ? now() : 0;
            try {
                source.session->write(payload.data(), payload.size());
                ++written;
                if (timed && written > filling) {
                    const double took = static_cast<double>(now() - begun), before = took - mean;
                    mean += before / static_cast<double>(written - filling);
                    squares += before * (took - mean);
                }
            } catch (const std::exception &) {
                if (++refused > 100) throw;
            }
        }
        source.session->flush();
        std::string answer = "sent samples=" + std::to_string(written) + " refused=" + std::to_string(refused) +
                             " nanos=" + std::to_string(now() - begin) + " late=" + std::to_string(late);
        if (payload.size() > 1024 && written > filling)
            answer += " call_mean=" + std::to_string(static_cast<uint64_t>(mean)) +
                      " call_spread=" + std::to_string(static_cast<uint64_t>(std::sqrt(squares / static_cast<double>(written - filling))));
        return answer;
    }

    // So long before a moment a sleep ends, and so long behind it a sample is late.
    static constexpr uint64_t close = 100000;

    static void wait_until(uint64_t at) {
        for (uint64_t time = now(); time < at; time = now())
            if (at - time > close) std::this_thread::sleep_for(std::chrono::nanoseconds(at - time - close));
    }

    std::string count(const Line &line) {
        Side &far = side([](const Side &s) { return s.sink != nullptr; }, "sink");
        Seen seen = far.sink->take(line.number("reset") != 0);
        if (line.pairs.count("file")) dump(line.text("file"), seen.delays);
        return "counted samples=" + std::to_string(seen.samples) + " octets=" + std::to_string(seen.octets) +
               " out_of_order=" + std::to_string(seen.out_of_order) +
               " nanos=" + std::to_string(seen.last - seen.first);
    }

    Implementation implementation;
    std::vector<Side> sides;
};

// Answers commands until `close` or the end of the input.
inline int serve(Implementation implementation) {
    Adapter adapter(std::move(implementation));
    for (std::string text; std::getline(std::cin, text);) {
        std::string answer;
        try {
            answer = adapter.obey(Line(text));
        } catch (const std::exception &error) {
            answer = "error text=" + escape(error.what());
        }
        std::cout << answer << std::endl;
        if (answer == "closed") break;
    }
    return 0;
}

}  // namespace bench

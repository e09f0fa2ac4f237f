// The floor of shared memory: payloads are copied into a ring and out of it, nothing around. Option: wait = spin (the
// default) or futex. One writer and one reader for each direction.
#include "../adapter.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

// Counters lie apart, so that the two sides do not fight for one line of the cache.
struct Ring {
    alignas(64) std::atomic<uint32_t> written;
    std::atomic<uint32_t> reader_waits;
    alignas(64) std::atomic<uint32_t> read;
    std::atomic<uint32_t> writer_waits;
    alignas(64) std::atomic<uint32_t> writers, readers;
};

struct Channel {
    Ring *ring = nullptr;
    uint8_t *slots = nullptr;
    size_t payload = 0;
    uint32_t count = 0;

    uint8_t *slot(uint32_t number) const { return slots + (number % count) * stride(payload); }
    static size_t stride(size_t payload) { return (payload + 63) / 64 * 64; }
    // About 64 MB at most; a power of two, so that the numbers may wrap.
    static uint32_t slots_for(size_t payload) {
        uint32_t count = 1024;
        while (count > 4 && count * stride(payload) > 64000000) count /= 2;
        return count;
    }
};

void futex_wait(std::atomic<uint32_t> &word, uint32_t value) {
    // Not for ever, so that an end is noticed.
    timespec time{0, 2000000};
    syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t> &word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

class Link : public bench::Session {
public:
    Link(const bench::Open &open, bench::OnPayload handler) : on_payload(std::move(handler)) {
        const std::string wait = open.option("wait", "spin");
        if (wait != "spin" && wait != "futex") throw std::runtime_error("wait=" + wait + ": there are spin and futex");
        spins = wait == "spin";
        auto writes_ping = [&] { return !open.writes.empty() && open.writes[0].find("Ping") != std::string::npos; };
        auto reads_pong = [&] { return !open.reads.empty() && open.reads[0].find("Pong") != std::string::npos; };
        const bool first = writes_ping() || reads_pong();
        map(open, first ? open.payload : open.arriving, first ? open.arriving : open.payload);
        out = channels[first ? 0 : 1];
        in = channels[first ? 1 : 0];
        is_writer = !open.writes.empty();
        if (is_writer) ++out.ring->writers;
        if (!open.reads.empty()) {
            ++in.ring->readers;
            is_reader = true;
            thread = std::thread([this] { receive(); });
        }
    }

    ~Link() override {
        end = true;
        if (thread.joinable()) thread.join();
        if (is_writer) --out.ring->writers;
        if (is_reader) --in.ring->readers;
        munmap(memory, length);
        // Whoever has the file for himself is the last.
        if (flock(file, LOCK_EX | LOCK_NB) == 0) shm_unlink(name.c_str());
        close(file);
    }

    size_t matched() override {
        size_t fewest = SIZE_MAX;
        if (is_writer) fewest = std::min<size_t>(fewest, out.ring->readers);
        if (is_reader) fewest = std::min<size_t>(fewest, in.ring->writers);
        return fewest == SIZE_MAX ? 0 : fewest;
    }

    void write(const uint8_t *payload, size_t size) override {
        Ring &ring = *out.ring;
        const uint32_t number = ring.written.load(std::memory_order_relaxed);
        for (uint32_t read; number - (read = ring.read.load(std::memory_order_acquire)) >= out.count;)
            pause(ring.read, read, ring.writer_waits);
        std::memcpy(out.slot(number), payload, std::min(size, out.payload));
        ring.written.store(number + 1, std::memory_order_seq_cst);
        if (!spins && ring.reader_waits.load(std::memory_order_seq_cst) != 0) futex_wake(ring.written);
    }

private:
    void map(const bench::Open &open, size_t ping, size_t pong) {
        name = "/dunlin-bench-" + std::to_string(open.domain);
        file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
        if (file < 0) throw std::runtime_error("shm_open: " + std::string(std::strerror(errno)));
        const size_t sizes[2] = {ping, pong};
        length = 2 * sizeof(Ring);
        for (size_t size : sizes) length += Channel::slots_for(size) * Channel::stride(size);
        // Whoever has the file for himself begins anew: what a process that was killed left behind is gone.
        if (flock(file, LOCK_EX | LOCK_NB) == 0 && ftruncate(file, 0) != 0) throw std::runtime_error("ftruncate");
        flock(file, LOCK_SH);
        if (ftruncate(file, static_cast<off_t>(length)) != 0) throw std::runtime_error("ftruncate");
        void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at == MAP_FAILED) throw std::runtime_error("mmap: " + std::string(std::strerror(errno)));
        memory = static_cast<uint8_t *>(at);
        uint8_t *slots = memory + 2 * sizeof(Ring);
        for (size_t side = 0; side < 2; ++side) {
            const uint32_t count = Channel::slots_for(sizes[side]);
            channels[side] = {reinterpret_cast<Ring *>(memory) + side, slots, sizes[side], count};
            slots += count * Channel::stride(sizes[side]);
        }
    }

    // Until a word is no longer what it was, or for a short time.
    void pause(std::atomic<uint32_t> &word, uint32_t value, std::atomic<uint32_t> &waits) const {
        if (spins) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
            return;
        }
        waits.store(1, std::memory_order_seq_cst);
        futex_wait(word, value);
        waits.store(0, std::memory_order_seq_cst);
    }

    void receive() {
        Ring &ring = *in.ring;
        std::vector<uint8_t> payload(in.payload);
        const bench::Write answer = [this](const uint8_t *data, size_t size) { write(data, size); };
        while (!end.load(std::memory_order_relaxed)) {
            const uint32_t number = ring.read.load(std::memory_order_relaxed);
            const uint32_t written = ring.written.load(std::memory_order_seq_cst);
            if (written == number) {
                pause(ring.written, written, ring.reader_waits);
                continue;
            }
            std::memcpy(payload.data(), in.slot(number), payload.size());
            ring.read.store(number + 1, std::memory_order_seq_cst);
            if (!spins && ring.writer_waits.load(std::memory_order_seq_cst) != 0) futex_wake(ring.read);
            on_payload(payload.data(), payload.size(), answer);
        }
    }

    bench::OnPayload on_payload;
    std::string name;
    int file = -1;
    uint8_t *memory = nullptr;
    size_t length = 0;
    Channel channels[2], out, in;
    bool spins = true, is_writer = false, is_reader = false;
    std::atomic<bool> end{false};
    std::thread thread;
};

}  // namespace

int main() {
    bench::Implementation shm;
    shm.name = "Shared memory";
    shm.version = "floor";
    shm.can = "intra-process,reliable,best-effort";
    shm.waits = [](const auto &options) {
        const auto wait = options.find("wait");
        return std::string(wait != options.end() && wait->second == "futex" ? "blocks" : "spins");
    };
    shm.built = "g++ -O2";
    shm.options = {"wait"};
    shm.open = [](const bench::Open &open, bench::OnPayload on_payload) {
        return std::make_unique<Link>(open, std::move(on_payload));
    };
    return bench::serve(std::move(shm));
}

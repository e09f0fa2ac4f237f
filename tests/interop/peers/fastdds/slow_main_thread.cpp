// Makes the main thread of a program slow where it opens connections, as on a busy machine; loaded with LD_PRELOAD.
// Once it has connected its next locks take 50 ms each, so that answers are there before it goes on.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int slow_locks = 0;

static bool is_main() {
    return syscall(SYS_gettid) == getpid();
}

template <class Function>
static Function* real(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

extern "C" int connect(int socket, const sockaddr* address, socklen_t length) {
    static const auto next = real(&connect, "connect");
    const int result = next(socket, address, length);
    if (is_main() && address->sa_family == AF_INET) slow_locks = 8;
    return result;
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static const auto next = real(&pthread_mutex_lock, "pthread_mutex_lock");
    if (slow_locks > 0 && is_main()) {
        --slow_locks;
        usleep(50000);
    }
    return next(mutex);
}

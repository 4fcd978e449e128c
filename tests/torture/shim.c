/* A library to preload: it counts what a process writes under one folder, and kills it or fails it at a chosen point.
 * It can also block connections to other machines, and let the clock jump. Nothing happens before `arm`. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OFF, COUNT, KILL, FULL };
static int mode = OFF, jumping = 0, offline = 0, unsynced = 0;
static long seen = 0, at = 0, connections = 0, clocks = 0;
static char folder[PATH_MAX];
static size_t length = 0;

void shim_arm(int new_mode, long point, const char *under) {
    at = point;
    seen = 0;
    length = strlen(under);
    memcpy(folder, under, length + 1);
    mode = new_mode;
}
long shim_seen(void) { return seen; }
void shim_skip_sync(void) { unsynced = 1; }
void shim_offline(void) { offline = 1; }
long shim_connections(void) { return connections; }
void shim_jump(int on) { jumping = on; }

#define NEXT(name) \
    static __typeof__(&name) next = NULL; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int under_path(const char *path) { return !strncmp(path, folder, length); }

static int of_file(int file) {
    char link[64], path[PATH_MAX];
    if (mode == OFF || file < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return under_path(path);
}

static int of_path(int place, const char *path) {
    char base[PATH_MAX];
    if (mode == OFF || !path) return 0;
    if (path[0] == '/') return under_path(path);
    if (place != AT_FDCWD) return of_file(place);
    return getcwd(base, sizeof base) && under_path(base);
}

/* Whether this operation must fail: `needs_space` operations do on a full disk. Kills at the chosen point. */
static int point(int needs_space) {
    long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (mode == KILL && number == at) die();
    if (mode == FULL && number >= at && needs_space) {
        errno = ENOSPC;
        return 1;
    }
    return 0;
}

/* As `point` for a write: a kill comes after half of the bytes; -1 of a full disk. */
static int torn(size_t size) {
    long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (mode == KILL && number == at) {
        if (size < 2) die();
        return 1;
    }
    if (mode == FULL && number >= at) {
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

#define WRITES(call, half, size) \
    if (of_file(file)) { \
        int what = torn(size); \
        if (what < 0) return -1; \
        if (what > 0) { \
            (void)!half; \
            die(); \
        } \
    } \
    return call

ssize_t write(int file, const void *data, size_t size) {
    NEXT(write);
    WRITES(next(file, data, size), next(file, data, size / 2), size);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t place) {
    NEXT(pwrite);
    WRITES(next(file, data, size, place), next(file, data, size / 2, place), size);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) {
    NEXT(pwrite64);
    WRITES(next(file, data, size, place), next(file, data, size / 2, place), size);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    NEXT(writev);
    WRITES(next(file, parts, count), next(file, parts, count / 2), (size_t)count);
}
ssize_t sendfile(int file, int from, off_t *place, size_t size) {
    ssize_t (*next)(int, int, off_t *, size_t) = dlsym(RTLD_NEXT, "sendfile");
    WRITES(next(file, from, place, size), next(file, from, place, size / 2), size);
}
ssize_t sendfile64(int file, int from, off64_t *place, size_t size) {
    ssize_t (*next)(int, int, off64_t *, size_t) = dlsym(RTLD_NEXT, "sendfile64");
    WRITES(next(file, from, place, size), next(file, from, place, size / 2), size);
}
ssize_t copy_file_range(int from, off64_t *start, int file, off64_t *place, size_t size, unsigned flags) {
    NEXT(copy_file_range);
    WRITES(next(from, start, file, place, size, flags), next(from, start, file, place, size / 2, flags), size);
}
size_t fwrite(const void *data, size_t each, size_t count, FILE *stream) {
    NEXT(fwrite);
    if (of_file(fileno(stream))) {
        int what = torn(each * count);
        if (what < 0) return 0;
        if (what > 0) {
            next(data, 1, each * count / 2, stream);
            fflush(stream);
            die();
        }
    }
    return next(data, each, count, stream);
}

/* Opening counts where it may create or empty a file. */
#define OPENS(place, path) \
    mode_t rights = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        rights = va_arg(more, mode_t); \
        va_end(more); \
    } \
    if ((flags & (O_CREAT | O_TRUNC)) && of_path(place, path) && point(flags & O_CREAT)) return -1

int open(const char *path, int flags, ...) {
    NEXT(open);
    OPENS(AT_FDCWD, path);
    return next(path, flags, rights);
}
int open64(const char *path, int flags, ...) {
    NEXT(open64);
    OPENS(AT_FDCWD, path);
    return next(path, flags, rights);
}
int openat(int place, const char *path, int flags, ...) {
    NEXT(openat);
    OPENS(place, path);
    return next(place, path, flags, rights);
}
int openat64(int place, const char *path, int flags, ...) {
    NEXT(openat64);
    OPENS(place, path);
    return next(place, path, flags, rights);
}

#define ON_PATH(place, path, needs_space) if (of_path(place, path) && point(needs_space)) return -1
#define ON_FILE(needs_space) if (of_file(file) && point(needs_space)) return -1

int rename(const char *from, const char *to) {
    NEXT(rename);
    ON_PATH(AT_FDCWD, to, 0);
    return next(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    NEXT(renameat);
    ON_PATH(b, to, 0);
    return next(a, from, b, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    NEXT(renameat2);
    ON_PATH(b, to, 0);
    return next(a, from, b, to, flags);
}
int link(const char *from, const char *to) {
    NEXT(link);
    ON_PATH(AT_FDCWD, to, 1);
    return next(from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    NEXT(linkat);
    ON_PATH(b, to, 1);
    return next(a, from, b, to, flags);
}
int mkdir(const char *path, mode_t rights) {
    NEXT(mkdir);
    ON_PATH(AT_FDCWD, path, 1);
    return next(path, rights);
}
int mkdirat(int place, const char *path, mode_t rights) {
    NEXT(mkdirat);
    ON_PATH(place, path, 1);
    return next(place, path, rights);
}
int unlink(const char *path) {
    NEXT(unlink);
    ON_PATH(AT_FDCWD, path, 0);
    return next(path);
}
int unlinkat(int place, const char *path, int flags) {
    NEXT(unlinkat);
    ON_PATH(place, path, 0);
    return next(place, path, flags);
}
int rmdir(const char *path) {
    NEXT(rmdir);
    ON_PATH(AT_FDCWD, path, 0);
    return next(path);
}
int fsync(int file) {
    NEXT(fsync);
    ON_FILE(0);
    return unsynced ? 0 : next(file);
}
int fdatasync(int file) {
    NEXT(fdatasync);
    ON_FILE(0);
    return unsynced ? 0 : next(file);
}
int ftruncate(int file, off_t size) {
    NEXT(ftruncate);
    ON_FILE(0);
    return next(file, size);
}
int ftruncate64(int file, off64_t size) {
    NEXT(ftruncate64);
    ON_FILE(0);
    return next(file, size);
}
int posix_fallocate(int file, off_t start, off_t size) {
    NEXT(posix_fallocate);
    if (of_file(file) && point(1)) return ENOSPC;
    return next(file, start, size);
}
int posix_fallocate64(int file, off64_t start, off64_t size) {
    NEXT(posix_fallocate64);
    if (of_file(file) && point(1)) return ENOSPC;
    return next(file, start, size);
}

/* Other machines: not reachable when offline. */
static int is_remote(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24) != 127;
    if (address->sa_family == AF_INET6)
        return !IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return 0;
}
int connect(int file, const struct sockaddr *address, socklen_t size) {
    NEXT(connect);
    if (offline && is_remote(address)) {
        __atomic_add_fetch(&connections, 1, __ATOMIC_SEQ_CST);
        errno = ENETUNREACH;
        return -1;
    }
    return next(file, address, size);
}
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    NEXT(getaddrinfo);
    int here = !name || !strcmp(name, "localhost") || !strncmp(name, "127.", 4) || !strcmp(name, "::1");
    if (offline && !here) {
        __atomic_add_fetch(&connections, 1, __ATOMIC_SEQ_CST);
        return EAI_NONAME;
    }
    return next(name, service, hints, found);
}

/* The time of day: days ahead and days back in turn. */
static time_t jump(void) {
    if (!jumping) return 0;
    long number = __atomic_add_fetch(&clocks, 1, __ATOMIC_SEQ_CST);
    return (time_t)((number * 7919) % 41 - 20) * 86400;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime);
    int result = next(clock, now);
    if (!result && clock == CLOCK_REALTIME) now->tv_sec += jump();
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int (*next)(struct timeval *restrict, void *restrict) = dlsym(RTLD_NEXT, "gettimeofday");
    int result = next(now, zone);
    if (!result) now->tv_sec += jump();
    return result;
}
time_t time(time_t *where) {
    NEXT(time);
    time_t now = next(NULL) + jump();
    if (where) *where = now;
    return now;
}

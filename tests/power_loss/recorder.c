/* Records what a process does to the files under $RECORD_ROOT, for a simulation of power failures.

   One line per event in $RECORD_OUT/events: number, kind, path and other path, separated by tabs. At every fsync, rename
   and link of a file its bytes are copied to $RECORD_OUT/bytes/N, N being the number of the event. Loaded with LD_PRELOAD.

   Writes are events for databases (*.sqlite*) only, which are changed in place.

   Some libraries rename temporary files without the C library. Those are named .tmp…: before every event, the new names
   of the ones that are gone are looked up by their inodes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int events = -1;
static long number = 0;
static char root[PATH_MAX], out[PATH_MAX];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char *given = getenv("RECORD_ROOT"), *to = getenv("RECORD_OUT");
  char path[PATH_MAX + 16];
  if (!given || !to) return;
  snprintf(root, sizeof root, "%s", given);
  snprintf(out, sizeof out, "%s", to);
  snprintf(path, sizeof path, "%s/events", out);
  events = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static const char *absolute(int folder, const char *path, char *whole) {
  char link[64], base[PATH_MAX];
  if (path[0] == '/') return path;
  if (folder == AT_FDCWD) {
    if (!getcwd(base, sizeof base)) return path;
  } else {
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return path;
    base[length] = 0;
  }
  return snprintf(whole, PATH_MAX, "%s/%s", base, path) < PATH_MAX ? whole : path;
}

static int watched(const char *path) {
  size_t length = strlen(root);
  return events >= 0 && length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static void copy(const char *from, long event) {
  char to[PATH_MAX + 64], block[65536];
  snprintf(to, sizeof to, "%s/bytes/%ld", out, event);
  int source = syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
  int target = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ssize_t got;
  while (source >= 0 && target >= 0 && (got = syscall(SYS_read, source, block, sizeof block)) > 0)
    if (syscall(SYS_write, target, block, got) != got) abort();
  if (source >= 0) syscall(SYS_close, source);
  if (target >= 0) syscall(SYS_close, target);
}

static void line(const char *kind, const char *path, const char *other, const char *bytes) {
  char text[2 * PATH_MAX + 128];
  int length = snprintf(text, sizeof text, "%ld\t%s\t%s\t%s\n", number, kind, path, other ? other : "");
  if (bytes) copy(bytes, number);
  number++;
  if (syscall(SYS_write, events, text, length) != length) abort();
}

#define MOST 256
static struct { char path[PATH_MAX]; ino_t inode; } temporary[MOST];
static int count = 0;

static void note_temporary(const char *path) {
  const char *name = strrchr(path, '/');
  struct stat found;
  if (!name || strncmp(name, "/.tmp", 5) || stat(path, &found) || count == MOST) return;
  snprintf(temporary[count].path, PATH_MAX, "%s", path);
  temporary[count++].inode = found.st_ino;
}

static void note_renames(void) {
  for (int each = 0; each < count; each++) {
    struct stat found;
    char folder[PATH_MAX], name[2 * PATH_MAX] = "";
    if (!stat(temporary[each].path, &found) && found.st_ino == temporary[each].inode) continue;
    snprintf(folder, sizeof folder, "%s", temporary[each].path);
    *strrchr(folder, '/') = 0;
    DIR *names = opendir(folder);
    for (struct dirent *entry; names && (entry = readdir(names));)
      if (entry->d_ino == temporary[each].inode) snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
    if (names) closedir(names);
    if (*name) line("rename", temporary[each].path, name, name);
    else line("unlink", temporary[each].path, NULL, NULL);
    temporary[each--] = temporary[--count];
  }
}

/* Write one event. `bytes`: a path to copy the file's bytes from, or NULL. */
static void record(const char *kind, const char *path, const char *other, const char *bytes) {
  struct stat found;
  int kept = errno;
  if (other && !stat(other, &found) && S_ISREG(found.st_mode)) bytes = other;
  pthread_mutex_lock(&guard);
  note_renames();
  line(kind, path, other, bytes);
  if (!strcmp(kind, "create")) note_temporary(path);
  pthread_mutex_unlock(&guard);
  errno = kept;
}

static int opened(int folder, const char *path, int flags, mode_t mode, int (*real)(int, const char *, int, ...)) {
  char whole[PATH_MAX];
  const char *name = absolute(folder, path, whole);
  int new = (flags & O_CREAT) && watched(name) && access(name, F_OK);
  int file = real(folder, path, flags, mode);
  if (file >= 0 && new) record("create", name, NULL, NULL);
  return file;
}

#define MODE(flags) va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest)

int openat(int folder, const char *path, int flags, ...) { MODE(flags); return opened(folder, path, flags, mode, REAL(openat)); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags); return opened(folder, path, flags, mode, REAL(openat64)); }
int open(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags, mode, REAL(openat)); }
int open64(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags, mode, REAL(openat64)); }

int renameat(int from, const char *path, int to, const char *new) {
  char first[PATH_MAX], second[PATH_MAX];
  const char *old = absolute(from, path, first), *name = absolute(to, new, second);
  int done = REAL(renameat)(from, path, to, new);
  if (!done && watched(name)) record("rename", old, name, NULL);
  return done;
}
int rename(const char *path, const char *new) { return renameat(AT_FDCWD, path, AT_FDCWD, new); }
int renameat2(int from, const char *path, int to, const char *new, unsigned flags) {
  return flags ? REAL(renameat2)(from, path, to, new, flags) : renameat(from, path, to, new);
}

int linkat(int from, const char *path, int to, const char *new, int flags) {
  char first[PATH_MAX], second[PATH_MAX];
  const char *old = absolute(from, path, first), *name = absolute(to, new, second);
  int done = REAL(linkat)(from, path, to, new, flags);
  if (!done && watched(name)) record("link", old, name, NULL);
  return done;
}
int link(const char *path, const char *new) { return linkat(AT_FDCWD, path, AT_FDCWD, new, 0); }

int unlinkat(int folder, const char *path, int flags) {
  char whole[PATH_MAX];
  const char *name = absolute(folder, path, whole);
  int done = REAL(unlinkat)(folder, path, flags);
  if (!done && watched(name)) record("unlink", name, NULL, NULL);
  return done;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
  char whole[PATH_MAX];
  const char *name = absolute(folder, path, whole);
  int done = REAL(mkdirat)(folder, path, mode);
  if (!done && watched(name)) record("mkdir", name, NULL, NULL);
  return done;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

static int synced(int file, int done) {
  char link[64], path[PATH_MAX];
  struct stat found;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (done || length < 0) return done;
  path[length] = 0;
  if (watched(path) && !fstat(file, &found)) record("sync", path, NULL, S_ISDIR(found.st_mode) ? NULL : link);
  return done;
}
int fsync(int file) { return synced(file, REAL(fsync)(file)); }
int fdatasync(int file) { return synced(file, REAL(fdatasync)(file)); }

int msync(void *address, size_t length, int flags) {
  int done = REAL(msync)(address, length, flags);
  FILE *maps = done || events < 0 ? NULL : fopen("/proc/self/maps", "re");
  char line[PATH_MAX + 128], path[PATH_MAX];
  unsigned long first, last;
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %s", &first, &last, path) == 3 && (unsigned long)address >= first &&
        (unsigned long)address < last && watched(path))
      record("sync", path, NULL, path);
  if (maps) fclose(maps);
  return done;
}

/* Databases are written in place: every write of one is an event with the bytes after it. */
static void written(int file) {
  char link[64], path[PATH_MAX];
  if (events < 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  if (watched(path) && strstr(path, ".sqlite")) record("write", path, NULL, link);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t place) {
  ssize_t done = REAL(pwrite)(file, data, size, place);
  written(file);
  return done;
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) {
  ssize_t done = REAL(pwrite64)(file, data, size, place);
  written(file);
  return done;
}
ssize_t write(int file, const void *data, size_t size) {
  ssize_t done = REAL(write)(file, data, size);
  written(file);
  return done;
}
int ftruncate(int file, off_t size) {
  int done = REAL(ftruncate)(file, size);
  written(file);
  return done;
}
int ftruncate64(int file, off64_t size) {
  int done = REAL(ftruncate64)(file, size);
  written(file);
  return done;
}

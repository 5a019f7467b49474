/*
 * Makes the n-th writing call on files below a folder fail. Preloaded into a child of test/store-faults.test.ts.
 *
 * FAULT_CONTROL names a file of six int32 that the test may change at any time:
 * calls counted so far, the call that fails (0: none), errno, whether all calls from then on fail,
 * whether that call is first cut short, whether only calls that sync count. FAULT_FOLDER is the folder.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

struct control {
  _Atomic int count, at, error, from_then_on, cut_short, only_sync;
};

static struct control *control;
static const char *folder;

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("FAULT_CONTROL");
  folder = getenv("FAULT_FOLDER");
  if (file == NULL || folder == NULL) return;
  int descriptor = open(file, O_RDWR);
  if (descriptor < 0) abort();
  void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (mapped == MAP_FAILED) abort();
  control = mapped;
}

/* 0: go on; 1: fail with errno; 2: write half. */
static int verdict(const char *path, int may_cut, int is_sync) {
  if (control->only_sync && !is_sync) return 0;
  if (strncmp(path, folder, strlen(folder)) != 0) return 0;
  int number = atomic_fetch_add(&control->count, 1) + 1;
  int at = control->at;
  if (at == 0 || number < at) return 0;
  if (number == at && control->cut_short && may_cut) return 2;
  /* After a cut the caller tries to write the rest: that is the call that fails. */
  int last = control->cut_short ? at + 1 : at;
  if (number > last && !control->from_then_on) return 0;
  errno = control->error;
  return 1;
}

static int of_descriptor(int descriptor, int may_cut, int is_sync) {
  if (control == NULL || control->at == 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return verdict(path, may_cut, is_sync);
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int descriptor, const void *bytes, size_t count) {
  REAL(write);
  int fault = of_descriptor(descriptor, count > 1, 0);
  return fault == 1 ? -1 : real(descriptor, bytes, fault == 2 ? count / 2 : count);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  REAL(pwrite);
  int fault = of_descriptor(descriptor, count > 1, 0);
  return fault == 1 ? -1 : real(descriptor, bytes, fault == 2 ? count / 2 : count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  REAL(pwrite64);
  int fault = of_descriptor(descriptor, count > 1, 0);
  return fault == 1 ? -1 : real(descriptor, bytes, fault == 2 ? count / 2 : count, offset);
}

int fsync(int descriptor) {
  REAL(fsync);
  return of_descriptor(descriptor, 0, 1) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
  REAL(fdatasync);
  return of_descriptor(descriptor, 0, 1) ? -1 : real(descriptor);
}

int ftruncate(int descriptor, off_t length) {
  REAL(ftruncate);
  return of_descriptor(descriptor, 0, 0) ? -1 : real(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
  REAL(ftruncate64);
  return of_descriptor(descriptor, 0, 0) ? -1 : real(descriptor, length);
}

int rename(const char *from, const char *to) {
  REAL(rename);
  if (control != NULL && control->at != 0 && verdict(to, 0, 0)) return -1;
  return real(from, to);
}

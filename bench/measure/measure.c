/*
 * Runs one program and writes what it and everything it started cost, as one line of JSON:
 * wall time from before the start to after the end, user and system time of the whole process tree, and the largest
 * resident set that any process of it had at its highest (what the kernel keeps as VmHWM). startedSeconds is when it was
 * started, by CLOCK_MONOTONIC. RESOLV_FILE takes the place of /etc/resolv.conf for the program.
 *
 *   measure RESULT_FILE NETNS_FILE|- RESOLV_FILE|- PROGRAM [ARGUMENT...]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int fail(const char *what) {
  fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
  return 126;
}

int main(int count, char **words) {
  if (count < 5) {
    fprintf(stderr, "usage: measure RESULT_FILE NETNS_FILE|- RESOLV_FILE|- PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  if (strcmp(words[2], "-") != 0) {
    int netns = open(words[2], O_RDONLY | O_CLOEXEC);
    if (netns < 0 || setns(netns, CLONE_NEWNET) != 0) return fail(words[2]);
  }
  if (strcmp(words[3], "-") != 0) {
    /* In a mount namespace of its own, or every process of the machine would get it. */
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(words[3], "/etc/resolv.conf", NULL, MS_BIND, NULL) != 0)
      return fail(words[3]);
  }
  /* What outlives its parent is handed to this process, and counts as well. */
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  double started = now();
  pid_t child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) {
    execvp(words[4], words + 4);
    _exit(fail(words[4]));
  }
  int status = 0, ended = 0;
  double wall = 0;
  for (;;) {
    pid_t pid = wait4(-1, &ended, 0, NULL);
    if (pid == child) {
      status = ended;
      wall = now() - started;
    } else if (pid < 0 && errno == ECHILD) break;
    else if (pid < 0 && errno != EINTR) return fail("wait4");
  }
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  FILE *result = fopen(words[1], "w");
  if (result == NULL) return fail(words[1]);
  fprintf(result, "{\"startedSeconds\":%.6f,\"wallSeconds\":%.6f,\"userSeconds\":%.6f,\"systemSeconds\":%.6f,\"peakRssKib\":%ld,\"exit\":%d}\n", started, wall,
          seconds(used.ru_utime), seconds(used.ru_stime), used.ru_maxrss,
          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  fclose(result);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * The ceiling: how fast plain TCP moves the same number of bytes over fresh connections, with no store, no files and
 * no protocol. The connections of one transfer share one counter of bytes left, so that none of them ends early.
 *
 *   raw-tcp serve PORT
 *   raw-tcp up|down HOST PORT BYTES CONNECTIONS
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 64 << 10, MOST_CONNECTIONS = 1024, MOST_TRANSFERS = 256 };

/* What a client says first on every connection. */
struct greeting {
  uint64_t transfer;
  uint64_t bytes;
  uint64_t is_up;
};

static const uint8_t nothing[PIECE];

static int send_shared(int socket, _Atomic int64_t *left) {
  /* What lies unsent in one socket's buffer cannot move to a faster connection: keep it short. */
  setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){PIECE * 2}, sizeof(int));
  for (;;) {
    int64_t mine = atomic_fetch_sub(left, PIECE);
    if (mine <= 0) break;
    size_t size = mine < PIECE ? (size_t)mine : PIECE;
    for (size_t sent = 0; sent < size;) {
      ssize_t went = send(socket, nothing, size - sent, MSG_NOSIGNAL);
      if (went <= 0) return -1;
      sent += (size_t)went;
    }
  }
  return shutdown(socket, SHUT_WR);
}

static int64_t drain(int socket) {
  static _Thread_local uint8_t buffer[PIECE * 4];
  int64_t total = 0;
  for (ssize_t got; (got = recv(socket, buffer, sizeof buffer, 0)) != 0; total += got)
    if (got < 0) return -1;
  return total;
}

/* ---- the server ---- */

static struct {
  uint64_t transfer;
  _Atomic int64_t left;
} transfers[MOST_TRANSFERS];
static pthread_mutex_t transfers_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_transfer;

static _Atomic int64_t *bytes_left(const struct greeting *greeting) {
  pthread_mutex_lock(&transfers_lock);
  int found = -1;
  for (int i = 0; i < MOST_TRANSFERS; i++)
    if (transfers[i].transfer == greeting->transfer) found = i;
  if (found < 0) {
    found = next_transfer++ % MOST_TRANSFERS;
    transfers[found].transfer = greeting->transfer;
    atomic_store(&transfers[found].left, (int64_t)greeting->bytes);
  }
  pthread_mutex_unlock(&transfers_lock);
  return &transfers[found].left;
}

static void *serve_one(void *given) {
  int socket = (int)(intptr_t)given;
  struct greeting greeting;
  if (recv(socket, &greeting, sizeof greeting, MSG_WAITALL) == sizeof greeting) {
    if (greeting.is_up) {
      int64_t total = drain(socket);
      if (total >= 0) send(socket, &total, sizeof total, MSG_NOSIGNAL);
    } else {
      send_shared(socket, bytes_left(&greeting));
      drain(socket);
    }
  }
  close(socket);
  return NULL;
}

static int serve(int port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, MOST_CONNECTIONS) != 0) {
    fprintf(stderr, "raw-tcp: port %d: %s\n", port, strerror(errno));
    return 1;
  }
  for (;;) {
    int socket = accept(listener, NULL, NULL);
    pthread_t thread;
    if (socket < 0) continue;
    if (pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)socket) == 0) pthread_detach(thread);
    else close(socket);
  }
}

/* ---- the client ---- */

static struct sockaddr_in server_address;
static struct greeting own_greeting;
static _Atomic int64_t own_left, moved;

static void *move_some(void *unused) {
  (void)unused;
  int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  int64_t total = -1;
  if (connect(socket_fd, (struct sockaddr *)&server_address, sizeof server_address) == 0 &&
      send(socket_fd, &own_greeting, sizeof own_greeting, MSG_NOSIGNAL) == sizeof own_greeting) {
    if (!own_greeting.is_up) total = drain(socket_fd);
    else if (send_shared(socket_fd, &own_left) != 0 || recv(socket_fd, &total, sizeof total, MSG_WAITALL) != sizeof total)
      total = -1;
  }
  if (total > 0) atomic_fetch_add(&moved, total);
  close(socket_fd);
  return NULL;
}

int main(int count, char **words) {
  signal(SIGPIPE, SIG_IGN);
  if (count == 3 && strcmp(words[1], "serve") == 0) return serve(atoi(words[2]));
  int connections = count == 6 ? atoi(words[5]) : 0;
  if (connections < 1 || connections > MOST_CONNECTIONS) {
    fprintf(stderr, "usage: raw-tcp serve PORT | raw-tcp up|down HOST PORT BYTES CONNECTIONS\n");
    return 2;
  }
  server_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[3]))};
  inet_pton(AF_INET, words[2], &server_address.sin_addr);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  own_greeting = (struct greeting){
      .transfer = ((uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec) ^ ((uint64_t)getpid() << 48) | 1,
      .bytes = strtoull(words[4], NULL, 10),
      .is_up = strcmp(words[1], "up") == 0,
  };
  atomic_store(&own_left, (int64_t)own_greeting.bytes);
  pthread_t threads[MOST_CONNECTIONS];
  for (int i = 0; i < connections; i++)
    if (pthread_create(&threads[i], NULL, move_some, NULL) != 0) return 1;
  for (int i = 0; i < connections; i++) pthread_join(threads[i], NULL);
  if ((uint64_t)atomic_load(&moved) != own_greeting.bytes) {
    fprintf(stderr, "raw-tcp: %lld of %llu bytes arrived\n", (long long)atomic_load(&moved),
            (unsigned long long)own_greeting.bytes);
    return 1;
  }
  return 0;
}

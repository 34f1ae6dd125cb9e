/*
 * A wide-area link between two network namespaces, in user space.
 *
 * Each namespace gets a TUN device; every packet that one side sends is read here and handed to the other side later.
 * A lane (one direction) decides in this order: is the link blacked out, does chance lose the segment, is there room in
 * the router's queue (drop-tail, bounded in time at the lane's rate), when has the last byte left at that rate, and when
 * does it arrive. Both devices speak virtio-net headers, so TCP may hand over super-packets of up to 64 KiB in one read;
 * chance, queue and rate still judge each wire segment, and a super-packet with a lost segment is cut around the gap.
 *
 *   wan CLIENT_NETNS_FILE SERVER_NETNS_FILE DEVICE
 *
 * Standard input takes one command a line, and the end of it ends the program:
 *   set rtt_ms=120 up_mbit=150 down_mbit=300 loss_percent=0.1 queue_kib=0 seed=7   (only what is named changes)
 *   blackout on | blackout off
 *   stats
 * Standard output answers each with one line of JSON.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
  VNET = sizeof(struct virtio_net_hdr),
  LARGEST_FRAME = VNET + 65536,
  RING_BYTES = 48 << 20,
  RECORD_ALIGN = 64,
  MOST_RUNS = 2048,
  READS_IN_A_ROW = 96,
  /* What is due within this time is delivered now: one wake-up serves several packets. */
  EARLY_NS = 30000,
  SMALLEST_QUEUE_BYTES = 256 << 10,
};

/* A packet on its way. `length` 0 says that the ring goes on at its start. */
struct record {
  int64_t due_ns;
  uint32_t length;
  uint32_t pad;
  uint8_t frame[];
};

struct lane {
  const char *name;
  int from, to;
  double rate_mbit, ns_per_byte;
  int64_t delay_ns, queue_ns;
  int64_t free_at_ns;
  uint8_t *ring;
  size_t head, tail;
  uint64_t segments, bytes, lost, overflowed, refused;
};

static struct lane lanes[2] = {{.name = "up", .rate_mbit = 1000}, {.name = "down", .rate_mbit = 1000}};
static double rtt_ms, loss_percent, queue_kib;
static uint64_t loss_below;
static int blackout;
static uint64_t chance_state = 0x9e3779b97f4a7c15ull;

static int64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* splitmix64: the same seed loses the same segments of the same traffic. */
static uint32_t chance(void) {
  uint64_t z = chance_state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (uint32_t)((z ^ (z >> 31)) >> 32);
}

static void die(const char *what) {
  fprintf(stderr, "wan: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* ---- the ring of packets on their way ---- */

static struct record *record_at(struct lane *lane, size_t offset) { return (struct record *)(lane->ring + offset); }

static size_t record_span(size_t length) {
  return (sizeof(struct record) + length + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

/* Room for one frame of any size at the tail, or NULL when the ring is full. */
static struct record *reserve(struct lane *lane) {
  size_t need = record_span(LARGEST_FRAME);
  if (lane->tail >= lane->head) {
    if (RING_BYTES - lane->tail > need) return record_at(lane, lane->tail);
    if (lane->head <= need) return NULL;
    record_at(lane, lane->tail)->length = 0;
    lane->tail = 0;
  }
  return lane->head - lane->tail > need ? record_at(lane, lane->tail) : NULL;
}

static void commit(struct lane *lane, struct record *record, size_t length, int64_t due_ns) {
  record->length = (uint32_t)length;
  record->due_ns = due_ns;
  lane->tail += record_span(length);
}

static struct record *first(struct lane *lane) {
  if (lane->head == lane->tail) {
    /* Empty: begin again, so that a slow lane only ever touches the memory that it needs. */
    lane->head = lane->tail = 0;
    return NULL;
  }
  struct record *record = record_at(lane, lane->head);
  if (record->length != 0) return record;
  lane->head = 0;
  return lane->head == lane->tail ? NULL : record_at(lane, 0);
}

/* ---- cutting a super-packet ---- */

static uint16_t get16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }
static uint32_t get32(const uint8_t *at) { return (uint32_t)get16(at) << 16 | get16(at + 2); }
static void put16(uint8_t *at, uint32_t value) { at[0] = (uint8_t)(value >> 8), at[1] = (uint8_t)value; }
static void put32(uint8_t *at, uint32_t value) { put16(at, value >> 16), put16(at + 2, value); }

static uint16_t ones_sum(const uint8_t *at, size_t bytes, uint32_t start) {
  uint32_t sum = start;
  for (size_t i = 0; i < bytes; i += 2) sum += get16(at + i);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return (uint16_t)sum;
}

/* Writes the super-packet that carries only the payload bytes [start, end) of `whole` into `out`; answers its length. */
static size_t carve(uint8_t *out, const uint8_t *whole, size_t headers, size_t start, size_t end, size_t payload) {
  memcpy(out, whole, VNET + headers);
  memcpy(out + VNET + headers, whole + VNET + headers + start, end - start);
  struct virtio_net_hdr *vnet = (struct virtio_net_hdr *)out;
  uint8_t *ip = out + VNET;
  size_t ip_bytes = (size_t)(ip[0] & 15) * 4, segment = vnet->gso_size;
  uint8_t *tcp = ip + ip_bytes;
  size_t tcp_bytes = headers - ip_bytes + (end - start);

  put16(ip + 2, (uint32_t)(headers + end - start));
  put16(ip + 4, get16(ip + 4) + (uint32_t)(start / segment));
  put16(ip + 10, 0);
  put16(ip + 10, (uint16_t)~ones_sum(ip, ip_bytes, 0));
  put32(tcp + 4, get32(tcp + 4) + (uint32_t)start);
  if (end < payload) tcp[13] &= (uint8_t)~0x09; /* FIN and PSH belong to the last byte */
  /* The receiving device finishes the checksum; it wants the sum of the pseudo-header here. */
  put16(tcp + 16, ones_sum(ip + 12, 8, (uint32_t)(IPPROTO_TCP + tcp_bytes)));
  if (end - start <= segment) vnet->gso_type = VIRTIO_NET_HDR_GSO_NONE, vnet->gso_size = 0;
  return VNET + headers + (end - start);
}

/* ---- one frame enters a lane ---- */

struct run {
  size_t start, end;
  int64_t gone_at_ns;
};

/* Whether this segment leaves, and then it occupies the link. */
static int passes(struct lane *lane, size_t wire_bytes, int64_t now_ns) {
  if (blackout || (loss_below != 0 && chance() < loss_below)) return lane->lost++, 0;
  int64_t starts = lane->free_at_ns > now_ns ? lane->free_at_ns : now_ns;
  int64_t takes = (int64_t)((double)wire_bytes * lane->ns_per_byte);
  if (starts - now_ns + takes > lane->queue_ns) return lane->overflowed++, 0;
  lane->free_at_ns = starts + takes;
  lane->segments++;
  lane->bytes += wire_bytes;
  return 1;
}

static void enter(struct lane *lane, struct record *record, size_t length, int64_t now_ns) {
  static struct run runs[MOST_RUNS];
  static uint8_t whole[LARGEST_FRAME];
  const struct virtio_net_hdr *vnet = (const struct virtio_net_hdr *)record->frame;
  const uint8_t *ip = record->frame + VNET;
  if (length <= VNET + 20 || ip[0] >> 4 != 4) return;

  size_t headers = length - VNET, payload = 0, segment = 1;
  if (vnet->gso_type != VIRTIO_NET_HDR_GSO_NONE) {
    size_t ip_bytes = (size_t)(ip[0] & 15) * 4;
    headers = ip_bytes + (size_t)(ip[ip_bytes + 12] >> 4) * 4;
    payload = length - VNET - headers;
    segment = vnet->gso_size;
  }
  if (payload == 0) {
    if (passes(lane, headers, now_ns)) commit(lane, record, length, lane->free_at_ns + lane->delay_ns);
    return;
  }

  int count = 0;
  for (size_t start = 0; start < payload; start += segment) {
    size_t end = start + segment < payload ? start + segment : payload;
    if (!passes(lane, headers + end - start, now_ns)) continue;
    if (count > 0 && runs[count - 1].end == start) runs[count - 1].end = end;
    else if (count < MOST_RUNS) runs[count++] = (struct run){.start = start, .end = end};
    runs[count - 1].gone_at_ns = lane->free_at_ns;
  }
  if (count == 1 && runs[0].start == 0 && runs[0].end == payload) {
    commit(lane, record, length, lane->free_at_ns + lane->delay_ns);
    return;
  }
  memcpy(whole, record->frame, length);
  for (int i = 0; i < count; i++) {
    struct record *next = reserve(lane);
    if (next == NULL) {
      lane->refused++;
      return;
    }
    size_t cut = carve(next->frame, whole, headers, runs[i].start, runs[i].end, payload);
    commit(lane, next, cut, runs[i].gone_at_ns + lane->delay_ns);
  }
}

static void take_in(struct lane *lane, int64_t now_ns) {
  for (int i = 0; i < READS_IN_A_ROW; i++) {
    struct record *record = reserve(lane);
    if (record == NULL) {
      /* Cannot happen while the queue is bounded; never spin on it. */
      static uint8_t spill[LARGEST_FRAME];
      if (read(lane->from, spill, sizeof spill) <= 0) return;
      lane->refused++;
      continue;
    }
    ssize_t got = read(lane->from, record->frame, LARGEST_FRAME);
    if (got <= 0) return;
    enter(lane, record, (size_t)got, now_ns);
  }
}

/* Delivers what is due; answers when the next packet is, or `idle_ns`. */
static int64_t give_out(struct lane *lane, int64_t now_ns, int64_t idle_ns) {
  struct record *record;
  while ((record = first(lane)) != NULL && record->due_ns <= now_ns + EARLY_NS) {
    if (blackout) lane->lost++;
    else if (write(lane->to, record->frame, record->length) < 0) lane->refused++;
    lane->head += record_span(record->length);
  }
  return record != NULL && record->due_ns < idle_ns ? record->due_ns : idle_ns;
}

/* ---- setting up and being told ---- */

static int open_device(const char *netns_file, const char *name) {
  int netns = open(netns_file, O_RDONLY | O_CLOEXEC);
  if (netns < 0 || setns(netns, CLONE_NEWNET) != 0) die(netns_file);
  close(netns);
  int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) die("/dev/net/tun");
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
  snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
  int header_bytes = VNET;
  if (ioctl(device, TUNSETIFF, &request) != 0) die("making the TUN device");
  if (ioctl(device, TUNSETVNETHDRSZ, &header_bytes) != 0) die("virtio-net headers");
  if (ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) die("super-packets");
  return device;
}

static void apply_settings(void) {
  loss_below = (uint64_t)(loss_percent / 100 * 4294967296.0);
  for (int i = 0; i < 2; i++) {
    double bytes_per_second = lanes[i].rate_mbit * 1e6 / 8;
    double queue_bytes = queue_kib * 1024;
    if (queue_bytes <= 0) queue_bytes = bytes_per_second * rtt_ms / 1000;
    if (queue_kib <= 0 && queue_bytes < SMALLEST_QUEUE_BYTES) queue_bytes = SMALLEST_QUEUE_BYTES;
    lanes[i].ns_per_byte = 1e9 / bytes_per_second;
    lanes[i].queue_ns = (int64_t)(queue_bytes * lanes[i].ns_per_byte);
    lanes[i].delay_ns = (int64_t)(rtt_ms * 1e6 / 2);
  }
}

static int change_setting(char *pair) {
  char *equals = strchr(pair, '=');
  if (equals == NULL) return 0;
  *equals = 0;
  double value = atof(equals + 1);
  if (strcmp(pair, "rtt_ms") == 0) rtt_ms = value;
  else if (strcmp(pair, "up_mbit") == 0 && value > 0) lanes[0].rate_mbit = value;
  else if (strcmp(pair, "down_mbit") == 0 && value > 0) lanes[1].rate_mbit = value;
  else if (strcmp(pair, "loss_percent") == 0) loss_percent = value;
  else if (strcmp(pair, "queue_kib") == 0) queue_kib = value;
  else if (strcmp(pair, "seed") == 0) chance_state = (uint64_t)value * 0xd1342543de82ef95ull + 1;
  else return 0;
  return 1;
}

static void tell_stats(void) {
  printf("{\"blackout\":%s", blackout ? "true" : "false");
  for (int i = 0; i < 2; i++) {
    const struct lane *lane = &lanes[i];
    printf(",\"%s\":{\"segments\":%lu,\"bytes\":%lu,\"lost\":%lu,\"overflowed\":%lu,\"refused\":%lu}", lane->name,
           (unsigned long)lane->segments, (unsigned long)lane->bytes, (unsigned long)lane->lost,
           (unsigned long)lane->overflowed, (unsigned long)lane->refused);
  }
  printf("}\n");
}

static void obey(char *line) {
  char *rest = line, *verb = strsep(&rest, " ");
  int understood = 1;
  if (strcmp(verb, "set") == 0) {
    for (char *pair; (pair = strsep(&rest, " ")) != NULL;) understood &= *pair == 0 || change_setting(pair);
    apply_settings();
  } else if (strcmp(verb, "blackout") == 0) blackout = rest != NULL && strcmp(rest, "on") == 0;
  else if (strcmp(verb, "stats") != 0) understood = 0;
  if (understood) tell_stats();
  else printf("{\"error\":\"not understood\"}\n");
}

/* Reads commands; answers 0 at the end of the input. */
static int listen_to(int input) {
  static char buffer[4096];
  static size_t filled;
  ssize_t got = read(input, buffer + filled, sizeof buffer - 1 - filled);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return 0;
  filled += (size_t)got;
  buffer[filled] = 0;
  for (char *end; (end = strchr(buffer, '\n')) != NULL;) {
    *end = 0;
    obey(buffer);
    filled -= (size_t)(end + 1 - buffer);
    memmove(buffer, end + 1, filled + 1);
  }
  if (filled == sizeof buffer - 1) filled = 0;
  return 1;
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "usage: wan CLIENT_NETNS_FILE SERVER_NETNS_FILE DEVICE\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  int client = open_device(words[1], words[3]), server = open_device(words[2], words[3]);
  lanes[0].from = lanes[1].to = client;
  lanes[0].to = lanes[1].from = server;
  for (int i = 0; i < 2; i++) {
    lanes[i].ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (lanes[i].ring == MAP_FAILED) die("memory");
  }
  apply_settings();
  prctl(PR_SET_TIMERSLACK, 1000UL);
  /* The link keeps its pace while the programs under test use every core. Without the right to, it runs as it is. */
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
  tell_stats();

  for (;;) {
    int64_t now_ns = clock_ns(), next_ns = now_ns + 1000000000;
    for (int i = 0; i < 2; i++) {
      take_in(&lanes[i], now_ns);
      next_ns = give_out(&lanes[i], now_ns, next_ns);
    }
    int64_t wait_ns = next_ns - clock_ns();
    if (wait_ns < 0) wait_ns = 0;
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    struct pollfd ready[3] = {{client, POLLIN, 0}, {server, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (ppoll(ready, 3, &wait, NULL) > 0 && ready[2].revents != 0 && !listen_to(STDIN_FILENO)) return 0;
  }
}

import type { LinkSettings } from "#e2e/link/emulator.ts";
import type { Shape } from "./stage/make-payload.ts";
import type { ServerName } from "./stage/start-server.ts";

/** Benchmark cases. Each names a link (or loopback), what is moved, and the bars that Tidemark has to meet. */

export type Direction = "up" | "down";
export const DIRECTIONS: readonly Direction[] = ["up", "down"];

/** Bars for one direction; absent ones are not checked. */
export interface Bar {
  /** Payload bits as a share of the link's rate, at least. */
  linkShare?: number;
  /** CPU seconds per GB as a multiple of the thriftiest peer, at most. */
  cpuOfBestPeer?: number;
  /** CPU seconds per GB, at most. */
  cpuPerGb?: number;
  /** Wall time as a multiple of the fastest peer, at most. */
  wallOfBestPeer?: number;
  /** Largest resident set in MB (10^6), at most. */
  peakRssMb?: number;
}

export interface BenchCase {
  name: string;
  title: string;
  /** Null: loopback. */
  link: LinkSettings | null;
  https: boolean;
  /**
   * MinIO completes an object by referring to its parts, as public stores do. versitygw copies the parts while the client waits
   * (0.2 s for 300 MB), but needs less of the CPU that it shares with the client.
   */
  server: ServerName;
  shape: Shape;
  /** `ten-by-ten` sets every tool to 10 parts of 10 MB in flight; otherwise Tidemark uses its defaults. */
  setting: "as-documented" | "ten-by-ten";
  bars: Record<Direction, Bar>;
}

const MB = 1_000_000;
const FILE: Shape = { kind: "file", bytes: 300 * MB };
const GB_FILE: Shape = { kind: "file", bytes: 1000 * MB };
const WAN_CPU: Record<Direction, Bar> = { up: { cpuOfBestPeer: 0.6 }, down: { cpuOfBestPeer: 0.7 } };
const PLAIN_CPU: Record<Direction, Bar> = { up: { cpuOfBestPeer: 0.7 }, down: { cpuOfBestPeer: 0.8 } };
/** Share of a link that TLS may cost. */
const TLS_SHARE = 0.01;

/** Returns two cases for one link: over TLS, as to public stores, and over plain HTTP, as in a private network. */
const wanCases = (given: {
  name: string;
  title: string;
  link: LinkSettings;
  /** Bars over plain HTTP, as shares of the link's rate. */
  upShare: number;
  downShare: number;
}): BenchCase[] => {
  const { name, title, link, upShare, downShare } = given;
  const common = { link, server: "minio", shape: FILE, setting: "as-documented" } as const;
  const less = (share: number): number => Number((share - TLS_SHARE).toFixed(2));
  return [
    {
      ...common,
      name,
      title: `${title}, TLS`,
      https: true,
      bars: {
        up: { linkShare: less(upShare), ...WAN_CPU.up },
        down: { linkShare: less(downShare), ...WAN_CPU.down },
      },
    },
    {
      ...common,
      name: `${name}-plain`,
      title: `${title}, plain HTTP as inside your own network`,
      https: false,
      bars: { up: { linkShare: upShare, ...PLAIN_CPU.up }, down: { linkShare: downShare, ...PLAIN_CPU.down } },
    },
  ];
};

const LOOPBACK_BARS: Record<Direction, Bar> = { up: { wallOfBestPeer: 1 }, down: { wallOfBestPeer: 1.2 } };

export const CASES: readonly BenchCase[] = [
  ...wanCases({
    name: "wan-120",
    title: "Another continent: RTT 120 ms, 150 up / 300 down Mbit/s",
    link: { rttMs: 120, upMbit: 150, downMbit: 300 },
    upShare: 0.91,
    downShare: 0.86,
  }),
  ...wanCases({
    name: "wan-230",
    title: "The far side of the world: RTT 230 ms, 90 up / 180 down Mbit/s",
    link: { rttMs: 230, upMbit: 90, downMbit: 180 },
    upShare: 0.89,
    downShare: 0.84,
  }),
  ...wanCases({
    name: "wan-30",
    title: "The same continent: RTT 30 ms, 500 up / 500 down Mbit/s",
    link: { rttMs: 30, upMbit: 500, downMbit: 500 },
    upShare: 0.9,
    downShare: 0.9,
  }),
  ...wanCases({
    name: "wan-loss",
    title: "A lossy line: RTT 40 ms, 0.1 % loss, 280 up / 660 down Mbit/s",
    link: { rttMs: 40, upMbit: 280, downMbit: 660, lossPercent: 0.1 },
    upShare: 0.72,
    downShare: 0.6,
  }),
  {
    name: "small-files",
    title: "2,000 files of 64 KiB: RTT 120 ms, 150 up / 300 down Mbit/s, plain HTTP",
    link: { rttMs: 120, upMbit: 150, downMbit: 300 },
    https: false,
    server: "minio",
    shape: { kind: "folder", files: 2000, fileBytes: 64 << 10 },
    setting: "as-documented",
    bars: { up: { wallOfBestPeer: 1, ...WAN_CPU.up }, down: { wallOfBestPeer: 1, ...WAN_CPU.down } },
  },
  {
    name: "memory",
    title: "Memory with 10 parts of 10 MB in flight: RTT 30 ms, 500 up / 500 down Mbit/s, plain HTTP",
    link: { rttMs: 30, upMbit: 500, downMbit: 500 },
    https: false,
    server: "minio",
    shape: FILE,
    setting: "ten-by-ten",
    bars: { up: { peakRssMb: 130 }, down: { peakRssMb: 130 } },
  },
  {
    name: "loopback-1g",
    title: "1 GB over loopback, HTTP",
    link: null,
    https: false,
    server: "versitygw",
    shape: GB_FILE,
    setting: "as-documented",
    bars: { up: { ...LOOPBACK_BARS.up, cpuPerGb: 0.9 }, down: { ...LOOPBACK_BARS.down, cpuPerGb: 0.9 } },
  },
  {
    name: "loopback-1g-https",
    title: "1 GB over loopback, HTTPS",
    link: null,
    https: true,
    server: "versitygw",
    shape: GB_FILE,
    setting: "as-documented",
    bars: LOOPBACK_BARS,
  },
];

/** Measures the hub and no transfer, so it has its own program and settings: bench/history. */
export const HISTORY_CASE = "history";

/** Returns the rate of a direction in bits per second, or null where there is no link. */
export const linkRate = (benchCase: Pick<BenchCase, "link">, direction: Direction): number | null => {
  const { link } = benchCase;
  if (link === null) return null;
  return (direction === "up" ? link.upMbit : link.downMbit) * 1e6;
};

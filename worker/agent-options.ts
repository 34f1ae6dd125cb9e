import type { Config } from "./config.ts";
import { wishedName } from "./host/facts.ts";
import { readHubAddress } from "./link/hub-address.ts";
import { readWatches, type Watch } from "./upload/watch.ts";

/** What `tidemark agent` was told, read and checked before anything starts. */
export interface AgentOptions {
  hub: string;
  token: string | null;
  name: string;
  watches: Watch[];
  settleMs: number;
  limitUp: number;
  limitDown: number;
  connections: number;
  partBytes: number | null;
  patienceMs: number;
  /** A connection without a byte for this long is given up. */
  idleMs: number;
}

const MIB = 1024 * 1024;
/** Node itself, the code, journals and signatures. */
const BASE_BYTES = 64 * MIB;
/** Buffers of one connection in each direction, and what the socket keeps. */
const CONNECTION_BYTES = 2 * MIB;

/** @throws Fault BAD_INPUT, HUB_PLAIN_HTTP */
export function readAgentOptions(config: Config): AgentOptions {
  const memoryBytes = config.size("memory") ?? 128 * MIB;
  const affordable = Math.max(1, Math.floor((memoryBytes - BASE_BYTES) / CONNECTION_BYTES));
  return {
    hub: readHubAddress(config.text("hub"), { allowHttp: config.isOn("allow-http") ? "yes" : "loopback-only" }),
    token: config.text("token"),
    name: wishedName(config.text("name")),
    watches: readWatches(config.list("watch"), config.text("run")),
    settleMs: config.durationMs("settle"),
    limitUp: config.size("limit-up") ?? 0,
    limitDown: config.size("limit-down") ?? 0,
    connections: Math.min(config.count("concurrency"), affordable),
    partBytes: config.size("part-size"),
    patienceMs: config.durationMs("retry-for"),
    idleMs: config.durationMs("stall-after"),
  };
}

import { assertNoKey } from "../standalone/key-file.ts";
import { isAbsolute, normalize, resolve } from "node:path";
import type { Config } from "../command-line/config.ts";
import { requestedName } from "../host/facts.ts";
import { readLimits } from "../limits/read-limits.ts";
import type { Limits } from "../limits/throttle.ts";
import { readHubAddress } from "../hub-link/hub-address.ts";
import type { KeepPolicy } from "#protocol/retention/keeping.ts";
import { readKeep } from "../standalone/read-keep.ts";
import { readNotify, type NotifyChannel } from "../notify/read-notify.ts";
import { readTo } from "../standalone/open-standalone.ts";
import { groupMember, type GroupMember } from "#protocol/checkpoint/pieces.ts";
import { readWatches, type Watch } from "../capture/watch.ts";
import { usage } from "../command-line/command-context.ts";

/** Options of `tidemark agent`, parsed and checked before anything starts. */
export interface AgentOptions {
  /** Address of the hub, or the `s3://bucket/prefix` that stands in for one. */
  hub: string;
  /** Bucket and prefix to which this node writes with its own keys, without a hub; null when it has a hub. */
  to: string | null;
  /** Rules by which checkpoints in the bucket of `to` are removed; null: none is. */
  keep: KeepPolicy | null;
  /** Whom this node tells what a hub would tell as alerts; null: nobody. */
  notify: { channel: NotifyChannel; afterMs: number } | null;
  /** File for a node exporter; null: none. */
  metricsFile: string | null;
  token: string | null;
  /** Whether to enroll with the identity that the platform gives this container. */
  withSaladIdentity: boolean;
  name: string;
  watches: Watch[];
  /** Rank of this node among several that write the run together; null: it writes alone. */
  group: GroupMember | null;
  settleMs: number;
  /** A checkpoint that looks unfinished but has not changed for this long is captured as doubtful. */
  unfinishedAfterMs: number;
  /** Upper limit of disk space for captures, bytes; null: half of what is free at the start. */
  diskBudgetBytes: number | null;
  /** Port of the local API on loopback; null: the unix socket only. */
  localPort: number | null;
  limits: Limits;
  /** Fixed number of connections; null: the concurrency controller finds it while bytes move. */
  connections: number | null;
  /** Upper limit of buffer memory for both directions together, bytes. */
  memoryBytes: number;
  partBytes: number | null;
  patienceMs: number;
  /** Folders in which the hub may place checkpoints. Empty: in watched folders, beside them, and in `./restored`. */
  restoreTo: string[];
  /** A connection that moves no byte for this long is given up. */
  idleMs: number;
}

/** @throws Fault BAD_INPUT */
function readRestoreTo(folders: readonly string[]): string[] {
  return folders.map((folder) => {
    if (!isAbsolute(folder)) throw usage(`--restore-to ${folder}`, "it is no absolute folder");
    return normalize(folder).replace(/(?<=.)\/+$/, "");
  });
}

const MIB = 1024 * 1024;
function readPort(port: number | null): number | null {
  if (port === null || port <= 65_535) return port;
  throw usage(`--local-port ${port}`, "a port is 65535 or less");
}

/** @throws Fault BAD_INPUT */
function readGroup(rank: number | null, of: number | null): GroupMember | null {
  if (rank === null && of === null) return null;
  if (of === null) throw usage(`--node-rank ${rank}`, "--nodes says how many there are");
  if (of === 1 && (rank ?? 0) === 0) return null;
  if (rank === null) throw usage(`--nodes ${of}`, "--node-rank says which of them this one is");
  const read = groupMember.safeParse({ rank, of });
  if (read.success) return read.data;
  throw usage(`--node-rank ${rank} --nodes ${of}`, read.error.issues[0]?.message ?? "not a node of a group");
}

/** @throws Fault BAD_INPUT, HUB_PLAIN_HTTP */
function readHub(config: Config): Pick<AgentOptions, "hub" | "to" | "keep"> {
  const isTyped = (name: "to" | "hub") =>
    config.settings.some((one) => one.name === name && one.source === `--${name}`);
  // A flag overrides the environment variable of the other option.
  const to = isTyped("hub") && !isTyped("to") ? null : config.text("to");
  const hub = isTyped("to") && !isTyped("hub") ? null : config.text("hub");
  const keep = config.text("keep");
  const keyFile = config.text("encrypt-key");
  if (keyFile !== null) assertNoKey(keyFile);
  if (keyFile === null && config.isOn("encrypt-names"))
    throw usage("--encrypt-names", "--encrypt-key says with which key");
  if (to === null) {
    if (hub === null) throw usage("--to", "it says where checkpoints go: --to s3://bucket/prefix, or --hub URL");
    if (keep !== null)
      throw usage(`--keep ${keep}`, "with a hub the hub keeps the rules: set them on its page of the run");
    if (keyFile !== null)
      throw usage(`--encrypt-key ${keyFile}`, "with a hub the hub keeps the key: switch encryption on under Buckets");
    return { hub: readHubAddress(hub, { allowHttp: config.isOn("allow-http") ? "yes" : "loopback-only" }), to, keep };
  }
  if (hub !== null) throw usage("--to", "--hub is given too; with a hub it is the hub that says where checkpoints go");
  readTo(to);
  return { hub: to, to, keep: keep === null ? null : readKeep(keep) };
}

/** Returns the watched folders as the settings name them. @throws Fault BAD_INPUT */
export const watchesOf = (config: Config): Watch[] =>
  readWatches({
    folders: config.list("watch"),
    runs: config.list("run"),
    patterns: config.list("pattern"),
    followsLinks: config.isOn("follow-links"),
    isDefault: config.settings.some(({ name, source }) => name === "watch" && source === "default"),
  });

/** Reads and checks the options of `tidemark agent`. @throws Fault BAD_INPUT, HUB_PLAIN_HTTP */
export function readAgentOptions(config: Config): AgentOptions {
  const connections = config.count("concurrency");
  const notify = config.text("notify");
  const metricsFile = config.text("metrics-file");
  const group = readGroup(config.number("node-rank"), config.number("nodes"));
  return {
    ...readHub(config),
    notify:
      notify === null
        ? null
        : { channel: readNotify(notify, config.text("notify-key")), afterMs: config.durationMs("notify-after") },
    metricsFile: metricsFile === null ? null : resolve(metricsFile),
    token: config.text("token"),
    withSaladIdentity: config.isOn("salad-identity"),
    name: requestedName(config.text("name")),
    watches: watchesOf(config).map((watch) => (group === null ? watch : { ...watch, group })),
    group,
    settleMs: config.durationMs("settle"),
    unfinishedAfterMs: config.durationMs("unfinished-after"),
    diskBudgetBytes: config.size("disk-budget"),
    localPort: readPort(config.number("local-port")),
    limits: readLimits(config),
    connections: connections === 0 ? null : connections,
    memoryBytes: config.size("memory") ?? 128 * MIB,
    partBytes: config.size("part-size"),
    patienceMs: config.durationMs("retry-for"),
    restoreTo: readRestoreTo(config.list("restore-to")),
    idleMs: config.durationMs("stall-after"),
  };
}

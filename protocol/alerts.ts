import * as z from "zod";
import { rowVersion } from "./bounded.ts";
import { CONTINUE_MANY } from "./continue-words.ts";
import { id } from "./names.ts";
import { scope } from "./scope.ts";

/**
 * What people want to be told of: kinds of rules with their parameters, the states of an alert, and the inputs of the
 * procedures. Durations are milliseconds, shares percent.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const duration = (leastMs: number) =>
  z
    .number()
    .int()
    .min(leastMs, `it is at least ${leastMs / 1000} s`)
    .max(30 * 24 * HOUR_MS, "it is 30 days at most");
const percent = z.number().min(1, "it is at least 1 %").max(100, "it is 100 % at most");

/** Each kind with its parameters and their defaults. */
export const alertCondition = z.discriminatedUnion("kind", [
  /** Training that would have to be repeated: more than so much of it. Subject: a run on a node. */
  z.object({ kind: z.literal("at-risk"), longerThanMs: duration(MINUTE_MS).default(30 * MINUTE_MS) }),
  /** Something waits to become safe, nobody holds it, and nothing moves. Subject: a node. */
  z.object({ kind: z.literal("stalled"), longerThanMs: duration(30_000).default(10 * MINUTE_MS) }),
  /** No word from a node that did not say goodbye. Subject: a node. */
  z.object({ kind: z.literal("silent"), longerThanMs: duration(30_000).default(5 * MINUTE_MS) }),
  /** Subject: a restore. */
  z.object({ kind: z.literal("restore-failed"), withinMs: duration(MINUTE_MS).default(24 * HOUR_MS) }),
  /** Of the nodes that measured their link, too many were too slow. Subject: a bucket profile. */
  z.object({
    kind: z.literal("rejected"),
    morePercent: percent.default(30),
    withinMs: duration(MINUTE_MS).default(HOUR_MS),
    /** Fewer nodes than this say nothing. */
    leastNodes: z.number().int().min(1).max(10_000).default(5),
  }),
  /** Less of the disk is free than so much. Subject: a node. */
  z.object({ kind: z.literal("disk-full"), lessPercent: percent.default(10) }),
  /** A run on a node that is heard of has made nothing safe for so long. Subject: a run. */
  z.object({ kind: z.literal("no-checkpoint"), longerThanMs: duration(MINUTE_MS).default(2 * HOUR_MS) }),
  /** Nodes cannot reach a bucket and save to the other homes of their runs. Subject: a bucket profile. */
  z.object({ kind: z.literal("bucket-away"), longerThanMs: duration(30_000).default(2 * MINUTE_MS) }),
  /** An interruption cost more training than so much. Subject: an interruption. */
  z.object({
    kind: z.literal("work-lost"),
    moreThanMs: duration(1_000).default(30 * MINUTE_MS),
    withinMs: duration(MINUTE_MS).default(24 * HOUR_MS),
  }),
  /** More sign-ins failed than so many. Subject: the hub. */
  z.object({
    kind: z.literal("sign-ins-failed"),
    moreThan: z.number().int().min(1).max(10_000).default(20),
    withinMs: duration(MINUTE_MS).default(10 * MINUTE_MS),
  }),
  /** A checkpoint was kept that may not be whole. Subject: the checkpoint. */
  z.object({ kind: z.literal("doubtful"), withinMs: duration(MINUTE_MS).default(24 * HOUR_MS) }),
  /** A node asked for a run that it may not write, or that another one goes on writing. Subject: a node and a run. */
  z.object({ kind: z.literal("claim-refused"), withinMs: duration(MINUTE_MS).default(HOUR_MS) }),
  /** A program ended, and of what it wrote nothing is safe. Subject: a node and a run. */
  z.object({ kind: z.literal("nothing-safe"), withinMs: duration(MINUTE_MS).default(24 * HOUR_MS) }),
]);
export type AlertCondition = z.infer<typeof alertCondition>;
export type AlertKind = AlertCondition["kind"];

/** In words: what the rule looks for, what a message says of one and of many, and what to do. */
export const ALERT_WORDS: Readonly<Record<AlertKind, { label: string; many: string; todo: string }>> = {
  "at-risk": {
    label: "Work at risk for too long",
    many: "runs have work at risk for too long",
    todo: "See what holds their uploads up: a slow or held link, a full disk, or a store that refuses.",
  },
  stalled: {
    label: "Uploads stalled",
    many: "nodes have uploads that do not move",
    todo: "Look at the fault of the transfer; if there is none, measure the link of the node.",
  },
  silent: {
    label: "Node silent",
    many: "nodes are silent",
    todo: `See whether the machine still runs. ${CONTINUE_MANY}`,
  },
  "restore-failed": {
    label: "Restore failed",
    many: "restores failed",
    todo: "Read why on the transfer, mend it, and try it again there.",
  },
  rejected: {
    label: "Too many nodes rejected",
    many: "bucket profiles have too many rejected nodes",
    todo: "When many links are too slow at once, look at the store's end first, then at the thresholds.",
  },
  "disk-full": {
    label: "Disk nearly full",
    many: "nodes are nearly out of disk",
    todo: "Free space there, or allow captures less (--disk-budget): a full disk takes no new checkpoint.",
  },
  "no-checkpoint": {
    label: "No checkpoint for too long",
    many: "runs have made no checkpoint safe for too long",
    todo: "See whether the program still writes checkpoints, and whether the folder is the one that is watched.",
  },
  "bucket-away": {
    label: "Bucket out of reach",
    many: "buckets are out of reach",
    todo: "See whether the store is up and its key still good. What could not go there is copied when it is back.",
  },
  "work-lost": {
    label: "Work lost",
    many: "interruptions cost training",
    todo: "Save more often, or see why what was saved had not become safe in time.",
  },
  "sign-ins-failed": {
    label: "Many failed sign-ins",
    many: "hubs have many failed sign-ins",
    todo: "See the audit for the networks they came from, and close the hub's address to them.",
  },
  doubtful: {
    label: "Doubtful checkpoint",
    many: "checkpoints may not be whole",
    todo: "See on its page what is missing. Nothing goes on from it by itself; to go on from it all the same, use --from STEP or restore it.",
  },
  "claim-refused": {
    label: "Run claimed by another node",
    many: "runs were claimed by nodes that may not write them",
    todo: "If the node is to go on with the run, hand it over on the run's page. If not, revoke the node and its join token.",
  },
  "nothing-safe": {
    label: "Nothing of a run is safe",
    many: "programs ended with nothing of their runs safe",
    todo: "Save the files while the node is there: `tidemark save`. Then watch the right folder, or name the checkpoints with --pattern.",
  },
};

export const SEVERITIES = ["info", "warning", "critical"] as const;
export const severity = z.enum(SEVERITIES);
export type Severity = z.infer<typeof severity>;

/**
 * `pending`: found true, for the moment only in memory, so that a flicker is no news; `firing`: told; `resolved`: over. One
 * of a rule and a subject is pending or firing at a time.
 */
export type AlertState = "pending" | "firing" | "resolved";

/** An alert leaves a state when its subject has been found (or not found any more) for long enough. */
const ALERT_MOVES: Readonly<Record<AlertState, { when: "found" | "gone"; to: AlertState } | null>> = {
  pending: { when: "found", to: "firing" },
  firing: { when: "gone", to: "resolved" },
  resolved: null,
};

/** Found true for this long before it fires, and not true for as long before it is over. */
export const ALERT_SETTLE_MS = 10_000;

/** The state after its subject was seen `as` it is for so long. */
export function alertAfter(state: AlertState, as: "found" | "gone", forMs: number): AlertState {
  const move = ALERT_MOVES[state];
  return move !== null && move.when === as && forMs >= ALERT_SETTLE_MS ? move.to : state;
}

/** In which nothing is sent but what is critical; what still fires when it ends is sent then. */
export const quietHours = z.object({
  timeZone: z.string().max(64).refine(isTimeZone, "it is no time zone: Europe/Berlin, or UTC"),
  from: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "a time looks like 22:00"),
  to: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "a time looks like 07:00"),
});
export type QuietHours = z.infer<typeof quietHours>;

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}

/** Whether it is quiet at an instant. The clock on the wall of that place decides, also when clocks change. */
export function isQuiet(quiet: QuietHours | null, atMs: number): boolean {
  if (quiet === null || quiet.from === quiet.to) return false;
  const options = { timeZone: quiet.timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const time = new Intl.DateTimeFormat("en-GB", options).format(atMs);
  return quiet.from < quiet.to ? time >= quiet.from && time < quiet.to : time >= quiet.from || time < quiet.to;
}

export const ruleDraft = z.object({
  name: z.string().trim().min(1, "a rule needs a name").max(80),
  condition: alertCondition,
  scope: scope.default({ nodes: null, runs: null, labels: {} }),
  severity: severity.default("warning"),
  /** None: it is shown in the pages only. */
  channelIds: z.array(id).max(20).default([]),
  quiet: quietHours.nullable().default(null),
  isEnabled: z.boolean().default(true),
});
export type RuleDraft = z.infer<typeof ruleDraft>;
export const createRuleInput = z.object({ rule: ruleDraft });
export const updateRuleInput = z.object({ id, version: rowVersion, rule: ruleDraft });

export const CHANNEL_KINDS = ["slack", "discord", "ntfy", "webhook"] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];
export const channelDraft = z.object({
  name: z.string().trim().min(1, "a channel needs a name").max(64),
  kind: z.enum(CHANNEL_KINDS),
  /** Most messages in a minute; further ones wait. */
  perMinute: z.number().int().min(1).max(60).default(6),
  isEnabled: z.boolean().default(true),
});
export type ChannelDraft = z.infer<typeof channelDraft>;

/** Write-only: whoever knows the address of a webhook may write to it. */
export const channelSecret = z.object({
  url: z
    .url({ protocol: /^https?$/, error: "an address looks like https://hooks.example.com/services/…" })
    .max(1024)
    .refine((text) => {
      const { username, password, hash } = new URL(text);
      return username === "" && password === "" && hash === "";
    }, "an address has no name, password or fragment in it"),
  /** Of a webhook: the key it is signed with. Of ntfy: its access token. */
  key: z
    .string()
    .max(512)
    .regex(/^[\x21-\x7e]*$/, "a key has no spaces and only plain characters")
    .default(""),
});
export type ChannelSecret = z.infer<typeof channelSecret>;

const LEAST_KEY = 16;
/** A webhook is signed, so it needs something to sign with. */
const isSignable = ({ channel, secret }: { channel: ChannelDraft; secret: ChannelSecret | null }): boolean =>
  secret === null || channel.kind !== "webhook" || secret.key.length >= LEAST_KEY;
const unsignable = { path: ["secret", "key"], message: `a webhook needs a key of at least ${LEAST_KEY} characters` };

export const createChannelInput = z
  .object({ channel: channelDraft, secret: channelSecret })
  .refine(isSignable, unsignable);
/** `secret: null` keeps the stored one. */
export const updateChannelInput = z
  .object({ id, version: rowVersion, channel: channelDraft, secret: channelSecret.nullable() })
  .refine(isSignable, unsignable);

export const acknowledgeInput = z.object({ alertIds: z.array(id).min(1).max(1_000) });
/** `ruleId: null` means all rules; `forMs: 0` ends it. */
export const muteInput = z.object({ ruleId: id.nullable(), forMs: duration(0) });
export const alertHistoryInput = z.object({
  ruleId: id.nullable().default(null),
  cursor: id.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(50),
});
export const activeAlertsInput = z.object({ limit: z.number().int().min(1).max(1_000).default(200) });

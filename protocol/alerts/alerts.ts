import * as z from "zod";
import { SEVERITIES } from "./severities.ts";
import { rowVersion } from "../base/bounded.ts";
import { CHANNEL_FIELDS, CHANNEL_KIND_NAMES, secretProblems, type ChannelFieldName } from "./channel-kinds.ts";
import { id } from "../base/names.ts";
import { scope } from "../base/scope.ts";

/**
 * Alert rules: their kinds with parameters, the states of an alert, and the inputs of the procedures. Durations are
 * milliseconds, shares percent.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const duration = (leastMs: number) =>
  z
    .number()
    .int()
    .min(leastMs, `it is at least ${leastMs / 1000} s`)
    .max(30 * 24 * HOUR_MS, "it is 30 days at most");
/** A write-ahead log of this length has not been checkpointed for long: a reader keeps one transaction open. */
export const LONG_LOG_BYTES = 256 * 1024 ** 2;
/** With less free space a hub of many nodes has only hours left. */
export const LITTLE_ROOM_BYTES = 512 * 1024 ** 2;
/** The file of the log keeps up to 64 MiB after it was checkpointed, so that a shorter limit would never be met again. */
const LEAST_LOG_MIB = 128;
const sizeBytes = (leastMib: number) =>
  z
    .number()
    .int()
    .min(leastMib * 1024 ** 2, `it is at least ${leastMib} MiB`)
    .max(1024 ** 4, "it is 1 TiB at most");
const percent = z.number().min(1, "it is at least 1 %").max(100, "it is 100 % at most");

/** Each kind with its parameters and their defaults. */
export const alertCondition = z.discriminatedUnion("kind", [
  /** More training time than this would have to be repeated. Subject: a run on a node. */
  z.object({ kind: z.literal("at-risk"), longerThanMs: duration(MINUTE_MS).default(30 * MINUTE_MS) }),
  /** Checkpoints wait to become safe, nobody has paused them, and nothing moves. Subject: a node. */
  z.object({ kind: z.literal("stalled"), longerThanMs: duration(30_000).default(10 * MINUTE_MS) }),
  /** A node that did not announce its end has not been heard. Subject: a node. */
  z.object({ kind: z.literal("silent"), longerThanMs: duration(30_000).default(5 * MINUTE_MS) }),
  /** A restore, verification or restore drill failed. Subject: that transfer. */
  z.object({ kind: z.literal("restore-failed"), withinMs: duration(MINUTE_MS).default(24 * HOUR_MS) }),
  /** Too many of the nodes that measured their link were too slow. Subject: a bucket profile. */
  z.object({
    kind: z.literal("rejected"),
    morePercent: percent.default(30),
    withinMs: duration(MINUTE_MS).default(HOUR_MS),
    /** With fewer nodes the rule finds nothing. */
    leastNodes: z.number().int().min(1).max(10_000).default(5),
  }),
  /** Less than this share of the disk is free. Subject: a node. */
  z.object({ kind: z.literal("disk-full"), lessPercent: percent.default(10) }),
  /** A run on a node that reports has made no checkpoint safe for this long. Subject: a run. */
  z.object({ kind: z.literal("no-checkpoint"), longerThanMs: duration(MINUTE_MS).default(2 * HOUR_MS) }),
  /** Nodes cannot reach a bucket and save to the other buckets of their runs. Subject: a bucket profile. */
  z.object({ kind: z.literal("bucket-away"), longerThanMs: duration(30_000).default(2 * MINUTE_MS) }),
  /** An interruption cost more training time than this. Subject: an interruption. */
  z.object({
    kind: z.literal("work-lost"),
    moreThanMs: duration(1_000).default(30 * MINUTE_MS),
    withinMs: duration(MINUTE_MS).default(24 * HOUR_MS),
  }),
  /** More sign-ins failed than this. Subject: the hub. */
  z.object({
    kind: z.literal("sign-ins-failed"),
    moreThan: z.number().int().min(1).max(10_000).default(20),
    withinMs: duration(MINUTE_MS).default(10 * MINUTE_MS),
  }),
  /** The disk of the hub is nearly full, or the write-ahead log of its database grows. Subject: the disk, or the log. */
  z.object({
    kind: z.literal("hub-disk"),
    lessFreeBytes: sizeBytes(1).default(LITTLE_ROOM_BYTES),
    moreLogBytes: sizeBytes(LEAST_LOG_MIB).default(LONG_LOG_BYTES),
  }),
  /** A checkpoint was kept although it may not be complete. Subject: the checkpoint. */
  z.object({ kind: z.literal("doubtful"), withinMs: duration(MINUTE_MS).default(24 * HOUR_MS) }),
  /** A node claimed a run that it may not write, or that another node still writes. Subject: a node and a run. */
  z.object({ kind: z.literal("claim-refused"), withinMs: duration(MINUTE_MS).default(HOUR_MS) }),
  /** A program ended, and nothing that it wrote is safe. Subject: a node and a run. */
  z.object({ kind: z.literal("nothing-safe"), withinMs: duration(MINUTE_MS).default(24 * HOUR_MS) }),
  /** A program did not continue from what it was given, and has not passed its step since. Subject: a run and an epoch. */
  z.object({ kind: z.literal("began-elsewhere") }),
  /** A job failed for the last time. Subject: the job. */
  z.object({ kind: z.literal("job-failed"), withinMs: duration(MINUTE_MS).default(24 * HOUR_MS) }),
  /** Jobs of a queue wait, none runs, and none was handed out for this long. Subject: the queue. */
  z.object({ kind: z.literal("queue-stuck"), longerThanMs: duration(MINUTE_MS).default(30 * MINUTE_MS) }),
]);
export type AlertCondition = z.infer<typeof alertCondition>;
export type AlertKind = AlertCondition["kind"];

export const severity = z.enum(SEVERITIES);

/**
 * `pending`: the condition is true, but kept only in memory so that a flicker sends no message. `firing`: announced.
 * `resolved`: over. Each rule and subject has at most one alert that is pending or firing.
 */
export type AlertState = "pending" | "firing" | "resolved";

/** Transitions of an alert, taken once its condition has held (`found`) or not held (`gone`) for long enough. */
const ALERT_MOVES: Readonly<Record<AlertState, { when: "found" | "gone"; to: AlertState } | null>> = {
  pending: { when: "found", to: "firing" },
  firing: { when: "gone", to: "resolved" },
  resolved: null,
};

/** How long a condition must hold before its alert fires, and not hold before the alert is resolved. */
export const ALERT_SETTLE_MS = 10_000;

/** Returns the next state after the condition has held (`found`) or not held (`gone`) for `forMs`. */
export function alertAfter(state: AlertState, as: "found" | "gone", forMs: number): AlertState {
  const move = ALERT_MOVES[state];
  return move !== null && move.when === as && forMs >= ALERT_SETTLE_MS ? move.to : state;
}

/** Hours in which only critical messages are sent. Alerts that still fire at the end are sent then. */
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

/** Returns whether quiet hours apply at an instant. Uses local time in the zone, also across daylight-saving changes. */
export function isQuiet(quiet: QuietHours | null, atMs: number): boolean {
  if (quiet === null || quiet.from === quiet.to) return false;
  const options = { timeZone: quiet.timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const time = new Intl.DateTimeFormat("en-GB", options).format(atMs);
  return quiet.from < quiet.to ? time >= quiet.from && time < quiet.to : time >= quiet.from || time < quiet.to;
}

/** Largest number of channels of one rule. */
export const MOST_CHANNELS = 20;
export const ruleDraft = z.object({
  name: z.string().trim().min(1, "a rule needs a name").max(80),
  condition: alertCondition,
  scope: scope.default({ nodes: null, runs: null, labels: {} }),
  severity: severity.default("warning"),
  /** Empty: the rule is shown in the pages only. */
  channelIds: z.array(id).max(MOST_CHANNELS).default([]),
  quiet: quietHours.nullable().default(null),
  isEnabled: z.boolean().default(true),
});
export type RuleDraft = z.infer<typeof ruleDraft>;
/** Without `channelIds` the rule gets the channels that are marked `isDefault`. */
export const createRuleInput = z.object({
  rule: ruleDraft.extend({ channelIds: z.array(id).max(MOST_CHANNELS).optional() }),
});
export const updateRuleInput = z.object({ id, version: rowVersion, rule: ruleDraft });

export const channelDraft = z.object({
  name: z.string().trim().min(1, "a channel needs a name").max(64),
  kind: z.enum(CHANNEL_KIND_NAMES),
  /** Largest number of messages in a minute; further ones wait. */
  perMinute: z.number().int().min(1).max(60).default(6),
  isEnabled: z.boolean().default(true),
  /** Whether rules that are added later use this channel. */
  isDefault: z.boolean().default(false),
});
export type ChannelDraft = z.infer<typeof channelDraft>;

const MOST_FIELD = 2_048;
const secretField = z
  .string()
  .max(MOST_FIELD)
  .refine((text) => text.isWellFormed(), "it is not valid Unicode")
  .default("");
/** Write-only: the address of a webhook is enough to write to it. `channel-kinds.ts` defines the fields. */
export const channelSecret = z.object(
  Object.fromEntries(CHANNEL_FIELDS.map((name) => [name, secretField])) as Record<ChannelFieldName, typeof secretField>,
);

const refuseSecret = (
  { channel, secret }: { channel: ChannelDraft; secret: z.infer<typeof channelSecret> | null },
  context: z.RefinementCtx,
): void => {
  if (secret === null) return;
  for (const [name, message] of Object.entries(secretProblems(channel.kind, secret))) {
    context.addIssue({ code: "custom", path: ["secret", name], message });
  }
};

/** `forAllRules`: adds the channel to every existing rule. */
export const createChannelInput = z
  .object({ channel: channelDraft, secret: channelSecret, forAllRules: z.boolean().default(false) })
  .superRefine(refuseSecret);
/** `secret: null` keeps the stored one. */
export const updateChannelInput = z
  .object({ id, version: rowVersion, channel: channelDraft, secret: channelSecret.nullable() })
  .superRefine(refuseSecret);

export const acknowledgeInput = z.object({ alertIds: z.array(id).min(1).max(1_000) });
/** `ruleId: null` mutes all rules; `forMs: 0` ends a mute. `reason` is shown beside the rule until the mute ends. */
export const muteInput = z.object({
  ruleId: id.nullable(),
  forMs: duration(0),
  reason: z
    .string()
    .trim()
    .max(256)
    .refine((text) => text.isWellFormed(), "it is not valid Unicode")
    .default(""),
});
export const alertHistoryInput = z.object({
  ruleId: id.nullable().default(null),
  cursor: id.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(50),
});
export const activeAlertsInput = z.object({ limit: z.number().int().min(1).max(1_000).default(200) });

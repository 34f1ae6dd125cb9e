import type { RuleDraft } from "#protocol/alerts/alerts.ts";
import { MOST_CHANNELS, ruleDraft } from "#protocol/alerts/alerts.ts";
import type { Database } from "#prisma/open.ts";

/** Rules of a new hub. Without a channel, alerts are shown only in the pages. */
const DEFAULTS: Readonly<Record<string, RuleDraft>> = {
  "default-silent": ruleDraft.parse({ name: "A node is silent", condition: { kind: "silent" }, severity: "critical" }),
  "default-at-risk": ruleDraft.parse({ name: "Work at risk for too long", condition: { kind: "at-risk" } }),
  "default-stalled": ruleDraft.parse({ name: "Uploads do not move", condition: { kind: "stalled" } }),
  "default-restore-failed": ruleDraft.parse({ name: "A restore failed", condition: { kind: "restore-failed" } }),
  "default-rejected": ruleDraft.parse({ name: "Many nodes rejected", condition: { kind: "rejected" } }),
  "default-disk-full": ruleDraft.parse({ name: "A disk is nearly full", condition: { kind: "disk-full" } }),
  "default-bucket-away": ruleDraft.parse({ name: "A bucket is out of reach", condition: { kind: "bucket-away" } }),
  "default-work-lost": ruleDraft.parse({ name: "Training was lost", condition: { kind: "work-lost" } }),
  "default-sign-ins-failed": ruleDraft.parse({ name: "Many sign-ins failed", condition: { kind: "sign-ins-failed" } }),
  "default-hub-disk": ruleDraft.parse({
    name: "The disk of the hub fills up",
    condition: { kind: "hub-disk" },
    severity: "critical",
  }),
  "default-doubtful": ruleDraft.parse({ name: "A checkpoint may not be whole", condition: { kind: "doubtful" } }),
  "default-claim-refused": ruleDraft.parse({
    name: "A run was claimed by another node",
    condition: { kind: "claim-refused" },
    severity: "critical",
  }),
  "default-nothing-safe": ruleDraft.parse({
    name: "Nothing of a run is safe",
    condition: { kind: "nothing-safe" },
    severity: "critical",
  }),
  "default-began-elsewhere": ruleDraft.parse({
    name: "A program did not continue from what it was given",
    condition: { kind: "began-elsewhere" },
  }),
  "default-job-failed": ruleDraft.parse({ name: "A job failed", condition: { kind: "job-failed" } }),
  "default-queue-stuck": ruleDraft.parse({ name: "A queue does not move", condition: { kind: "queue-stuck" } }),
  // Off by default: a node whose training is over makes no checkpoint either.
  "default-no-checkpoint": ruleDraft.parse({
    name: "A run makes no checkpoint",
    condition: { kind: "no-checkpoint" },
    isEnabled: false,
  }),
};

/** Adds the default rules that this hub never had. The row of a removed rule stays, so the rule does not come back. */
export async function addDefaultRules(db: Database, now: number): Promise<void> {
  const known = new Set((await db.alertRule.findMany({ select: { id: true } })).map(({ id }) => id));
  const missing = Object.entries(DEFAULTS).filter(([id]) => !known.has(id));
  if (missing.length === 0) return;
  const at = new Date(now);
  const channelIds = await defaultChannels(db);
  await db.alertRule.createMany({
    data: missing.map(([id, rule]) => ({
      id,
      version: 1,
      ...columnsOf({ ...rule, channelIds }),
      createdAt: at,
      updatedAt: at,
    })),
  });
}

/** Returns the channels of a rule for which nobody chose any. */
export async function defaultChannels(db: Database): Promise<string[]> {
  const rows = await db.alertChannel.findMany({
    where: { isDefault: true },
    orderBy: { name: "asc" },
    select: { id: true },
    take: MOST_CHANNELS,
  });
  return rows.map(({ id }) => id);
}

/** Returns the database columns of a rule. */
export function columnsOf(rule: RuleDraft) {
  const { kind, ...params } = rule.condition;
  return {
    name: rule.name,
    kind,
    params: JSON.stringify(params),
    scope: JSON.stringify(rule.scope),
    severity: rule.severity,
    channels: JSON.stringify(rule.channelIds),
    quiet: rule.quiet === null ? null : JSON.stringify(rule.quiet),
    isEnabled: rule.isEnabled,
  };
}

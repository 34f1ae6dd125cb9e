import type { KeepsVersions } from "#protocol/base/kept-versions.ts";
import type { BucketUsage, UsageDay } from "#protocol/buckets/bucket-usage.ts";
import { formatCount } from "#protocol/base/units.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

type Cost = NonNullable<BucketUsage["cost"]>;

/** Formats money with two decimals; smaller amounts as `under 0.01 USD`. */
export function moneyOf(amount: number, currency: string): string {
  if (amount > 0 && amount < 0.01) return `under 0.01 ${currency}`;
  return `${amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${currency}`;
}

const days = (count: number): string => (count === 1 ? "the last day" : `the last ${formatCount(count)} days`);

/** Returns what these numbers lack in a bucket that keeps old versions; null where deletions free all, or nobody knows. */
export function versionsMissing(keeps: KeepsVersions): string | null {
  if (keeps === null || keeps === false) return null;
  const why =
    keeps === true ? "The bucket keeps old versions" : "The bucket kept old versions until versioning was suspended";
  return `${why}: deleted objects may still be stored and cost money. These numbers exclude them. They go when a rule of the bucket, or the end of its lock, removes them.`;
}

/** Returns the basis of the cost estimate, and what it leaves out. */
export function costBasis({ cost, moved }: BucketUsage): string {
  if (cost === null) return "";
  const prices = cost.hasOwnPrices ? "the prices in this profile" : "the provider's list prices";
  return `By ${prices}, at what is stored now and at the pace of ${days(moved.days)}. What browsers and other programs fetch is in the requests only.`;
}

/** Returns by how much growth raises the storage bill with each further month; null below a cent. */
export function growthCost(perDayBytes: number, { perGbMonth, currency }: Cost): string | null {
  const more = ((perDayBytes * 30) / 1e9) * perGbMonth;
  return more < 0.01 ? null : `each further month ${moneyOf(more, currency)} more`;
}

/** Returns the bytes kept per day, averaged over the days covered. */
export function keptPerDay({ days: all, moved }: Pick<BucketUsage, "days" | "moved">): number {
  const looked = all.slice(-moved.days);
  return looked.reduce((sum, { keptBytes }) => sum + keptBytes, 0) / Math.max(1, looked.length);
}

export const dateOf = (at: number): string =>
  new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

export function daySentence({ from, cameBytes, keptBytes, checkpoints }: UsageDay): string {
  const kept = `${formatBytes(keptBytes)} of ${formatCount(checkpoints)} ${checkpoints === 1 ? "checkpoint" : "checkpoints"} still there`;
  return `${dateOf(from)}: ${formatBytes(cameBytes)} came, ${kept}`;
}

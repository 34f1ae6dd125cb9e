import type { BucketUsage, UsageDay } from "#protocol/buckets/bucket-usage.ts";
import { formatCount } from "#protocol/base/units.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

type Cost = NonNullable<BucketUsage["cost"]>;

/** Two digits behind the point; less than that is said so, because it is not nothing. */
export function moneyOf(amount: number, currency: string): string {
  if (amount > 0 && amount < 0.01) return `under 0.01 ${currency}`;
  return `${amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${currency}`;
}

const days = (count: number): string => (count === 1 ? "the last day" : `the last ${formatCount(count)} days`);

/** What the estimate rests on, and what it does not know. */
export function costBasis({ cost, moved }: BucketUsage): string {
  if (cost === null) return "";
  const prices = cost.hasOwnPrices ? "the prices in this profile" : "the provider's list prices";
  return `By ${prices}, at what is stored now and at the pace of ${days(moved.days)}. What browsers and other programs fetch is in the requests only.`;
}

/** What growth alone adds to each further month's bill for storage. */
export function growthCost(perDayBytes: number, { perGbMonth, currency }: Cost): string | null {
  const more = ((perDayBytes * 30) / 1e9) * perGbMonth;
  return more < 0.01 ? null : `each further month ${moneyOf(more, currency)} more`;
}

/** What stayed a day, on average of the days that were looked at. */
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

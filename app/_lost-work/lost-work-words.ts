import type { LossSum, Money } from "#protocol/history/losses.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";

/** Wording of lost work. */

/** Formats `12.40 USD`; less than a cent as `under 0.01 USD`. */
export const moneyWords = ({ currency, amount }: Money): string =>
  amount > 0 && amount < 0.01
    ? `under 0.01 ${currency}`
    : `${amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${currency}`;

export const costWords = (costs: readonly Money[]): string => costs.map(moneyWords).join(" and ");

/** Returns `3 interruptions: 120 steps, 1 h 20 min done again, 2.40 USD`. */
export function lossSentence({ interruptions, lostSteps, lostMs, costs }: LossSum): string {
  if (interruptions === 0) return "no work was lost";
  const words = interruptions === 1 ? "interruption" : "interruptions";
  const cost = costs.length === 0 ? "" : `, ${costWords(costs)}`;
  return `${formatCount(interruptions)} ${words}: ${formatCount(lostSteps)} steps, ${formatDuration(lostMs)} done again${cost}`;
}

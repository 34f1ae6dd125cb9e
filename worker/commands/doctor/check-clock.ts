import { formatDuration } from "#protocol/base/units.ts";
import { clockCorrectionMs, clockOffsetMs, measureClock, sayClock } from "#storage/answers/clock-skew.ts";
import { networkFetch } from "#storage/network/fetch.ts";
import { doubtful, fine, skipped, type Finding } from "./finding.ts";

const LONGEST_MS = 8_000;

/** Compares this machine's clock with that of the store or the hub, by the Date header of any answer. */
export async function checkClock(
  what: string,
  about: { address: string; signal: AbortSignal; now?: () => number },
): Promise<Finding> {
  const { address, signal, now = Date.now } = about;
  const sentAtMs = now();
  let date: string | null = null;
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
    const answer = await networkFetch(address, { method: "HEAD", redirect: "manual", signal: limit });
    date = answer.headers.get("date");
  } catch {
    // The checks of the connection report why no answer comes.
    return skipped("clock", {
      says: `the ${what} did not answer`,
      fix: `Fix first what the lines about the ${what} report.`,
    });
  }
  const known = measureClock(null, { sentAtMs, receivedAtMs: now(), date: date ?? undefined });
  if (known === null)
    return skipped("clock", {
      says: `the ${what} does not say its time`,
      fix: "Compare it with a clock that you trust: date -u.",
    });
  if (clockCorrectionMs(known) === 0) {
    return fine("clock", `within ${formatDuration(Math.max(1000, Math.abs(clockOffsetMs(known))))} of the ${what}'s`);
  }
  return doubtful("clock", {
    says: `${(sayClock(known) ?? "").replace("the store's", `the ${what}'s`)}; transfers allow for it, programs beside it do not`,
    fix: "Set the clock: timedatectl set-ntp true; a container has the clock of its host.",
  });
}

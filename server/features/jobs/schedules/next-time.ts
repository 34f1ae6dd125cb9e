import { Cron } from "croner";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Returns the next time of a schedule after a moment, epoch ms. The expression has five parts, so the times are a minute apart at
 * least. @throws Fault BAD_INPUT when the expression or the time zone is none, or no such time comes
 */
export function nextTime({ cron, timeZone }: { cron: string; timeZone: string }, afterMs: number): number {
  const refuse = (detail: string): Fault => new Fault("BAD_INPUT", { op: "schedule", subject: cron, detail });
  try {
    // The time zone is checked here, because the library tells its fault only with the first time.
    Intl.DateTimeFormat("en", { timeZone });
  } catch {
    throw new Fault("BAD_INPUT", { op: "schedule", subject: timeZone, detail: "there is no such time zone" });
  }
  let next: Date | null;
  try {
    next = new Cron(cron, { timezone: timeZone, paused: true, mode: "5-part" }).nextRun(new Date(afterMs));
  } catch {
    throw refuse("it has five parts: minute, hour, day of the month, month, day of the week; for example 0 3 * * 1-5");
  }
  if (next === null) throw refuse("no time fits it");
  return next.getTime();
}

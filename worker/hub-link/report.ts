import type { ProgressReport, ReportAnswer } from "#protocol/wire/reports.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "./hub.ts";
import type { Outbox } from "./outbox.ts";
import { isFatal } from "./stream.ts";

/** Reports the current state to the hub, as often as the hub asks. A lost report is superseded by the next one. */
export interface Reporting {
  hub: Hub;
  clock: Clock;
  signal: AbortSignal;
  everyMs(): number;
  compose(): Promise<ProgressReport>;
  onAnswer(answer: ReportAnswer): void;
}

/** Sends reports until the signal fires. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
export async function keepReporting(reporting: Reporting): Promise<void> {
  const { hub, clock, signal } = reporting;
  let missed = 0;
  while (!signal.aborted) {
    try {
      const report = await reporting.compose();
      const answer = await hub.ask("progress", (client, limit) =>
        client.node.progress.mutate(report, { signal: limit }),
      );
      reporting.onAnswer(answer);
      missed = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (isFatal(error)) throw error;
      missed++;
    }
    const slower = Math.min(30_000, reporting.everyMs() * 2 ** Math.min(missed, 5));
    const waitMs = missed === 0 ? reporting.everyMs() : slower * (0.5 + clock.random() / 2);
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

const RETRY_MS = 1_000;
const MAX_RETRY_MS = 15_000;

/** Sends the events of the outbox until the signal fires. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
export async function keepDelivering(
  outbox: Outbox,
  link: { hub: Hub; clock: Clock; signal: AbortSignal },
): Promise<void> {
  const { hub, clock, signal } = link;
  let tries = 0;
  while (!signal.aborted) {
    const news = new Promise<void>((resolve) => {
      outbox.onAdd = resolve;
    });
    if (!outbox.isMet || outbox.next().length === 0) {
      await Promise.race([news, clock.sleep(60_000, signal).catch(() => undefined)]);
      continue;
    }
    try {
      await deliver(outbox, hub);
      tries = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (isFatal(error)) throw error;
      // A batch that the hub always refuses blocks all later events. Retry at the longest interval, but never drop events.
      const most =
        isFault(error) && error.retry === "never" ? MAX_RETRY_MS : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** tries);
      tries = Math.min(tries + 1, 10);
      await clock.sleep(clock.random() * most + 100, signal).catch(() => undefined);
    }
  }
}

/** Sends one batch; does nothing before `isMet`. */
export async function deliver(outbox: Outbox, hub: Hub): Promise<void> {
  const events = outbox.isMet ? outbox.next() : [];
  if (events.length === 0) return;
  const { acceptedThrough } = await hub.ask("record", (client, signal) =>
    client.node.record.mutate({ events: [...events] }, { signal }),
  );
  await outbox.accepted(acceptedThrough);
}

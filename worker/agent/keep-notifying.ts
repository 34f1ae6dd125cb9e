import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import { systemClock } from "../base/clock.ts";
import { eventNotice, safeNotice, unsafeNotice } from "../notify/compose-notice.ts";
import { createNotifier, type Notifier } from "../notify/notifier.ts";
import { readBacklog } from "../upload/backlog.ts";
import type { Agent } from "./agent-assemble.ts";

const LOOK_MS = 5_000;

/**
 * Sends the messages of `--notify`: a checkpoint that is not safe for `afterMs`, a program that failed, a restore that is done.
 * Messages at the end of the worker have until `lifetime` fires. A program that ends because the worker was asked to stop
 * (`stopping`) has not failed.
 */
export function startNotifying(
  agent: Agent,
  { lifetime, stopping }: { lifetime: AbortSignal; stopping: AbortSignal },
): { run(): Promise<void>; idle(): Promise<void> } {
  const { notify } = agent.options;
  if (notify === null) return { run: () => Promise.resolve(), idle: () => Promise.resolve() };
  const { outbox, reporter, session, signal } = agent;
  const notifier = createNotifier({
    channel: notify.channel,
    clock: systemClock,
    signal: lifetime,
    onTrouble: reporter.waitingFor,
  });
  const about = () => ({ node: session.name, now: Date.now() });
  outbox.onEvent = (event) => {
    if (event.type === "program-ended" && stopping.aborted) return;
    send(notifier, eventNotice(about(), event));
  };
  const firing = new Set<string>();
  return {
    idle: notifier.idle,
    run: async () => {
      while (!signal.aborted) {
        // A full disk, for example, must not end the worker.
        const all = await readBacklog(agent).catch((error: unknown) => {
          reporter.waitingFor(error);
          return [];
        });
        for (const backlog of all) send(notifier, judge({ ...about(), afterMs: notify.afterMs, firing }, backlog));
        await systemClock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}

const send = (notifier: Notifier, message: AlertMessage | null): void => {
  if (message !== null) notifier.send(message);
};

/** Returns what changed for a run: it begins to fire, or all of it is safe again. `firing` is updated. */
export function judge(
  about: { node: string; now: number; afterMs: number; firing: Set<string> },
  backlog: RunBacklog,
): AlertMessage | null {
  const { now, afterMs, firing } = about;
  const { run, oldestUnsafeAt } = backlog;
  const isLate = oldestUnsafeAt !== null && now - oldestUnsafeAt >= afterMs;
  if (isLate && !firing.has(run)) {
    firing.add(run);
    return unsafeNotice(about, backlog);
  }
  // The state ends only when the oldest waiting capture is young again, or when none waits; fewer captures do not
  // suffice.
  if (isLate || !firing.delete(run)) return null;
  return safeNotice(about, backlog);
}

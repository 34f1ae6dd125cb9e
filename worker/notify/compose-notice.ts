import { shownStep, stepWords } from "#protocol/checkpoint/step-words.ts";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import type { RunBacklog, NodeEventBody } from "#protocol/wire/reports.ts";
import { riskOf } from "#protocol/wire/risk.ts";

/** Writes the messages of a node that tells by itself what a hub would tell as alerts. `now`: epoch ms. */
interface About {
  node: string;
  now: number;
}

type NoticeText = Pick<AlertMessage, "kind" | "severity" | "rule" | "title" | "lines" | "todo">;

const message = ({ node, now }: About, run: string, told: NoticeText): AlertMessage => ({
  ...told,
  // Each incident of a run is opened and closed by itself.
  rule: `${told.rule} ${run} ${node}`,
  remaining: 0,
  link: "",
  at: now,
  count: 1,
  alerts: [{ id: `${told.rule}-${run}`, node, run, text: told.title, since: now }],
});

/** Returns the message about checkpoints of a run that have waited for too long. */
export function unsafeNotice(about: About, backlog: RunBacklog): AlertMessage {
  const { run, oldestUnsafeAt, unsafeCheckpoints, unsafeBytes } = backlog;
  const { node, now } = about;
  const waited = formatDuration(Math.max(0, now - (oldestUnsafeAt ?? now)));
  const { lossMs } = riskOf(backlog, now);
  const all = `${formatCount(unsafeCheckpoints)} checkpoint${unsafeCheckpoints === 1 ? "" : "s"}`;
  return message(about, run, {
    kind: "firing",
    severity: "critical",
    rule: "not-safe",
    title: `${node}: a checkpoint of ${run} has not been safe for ${waited}`,
    lines: [`${all}, ${formatBytes(unsafeBytes)}, wait; ${formatDuration(lossMs)} of training would be lost now.`],
    todo: `\`tidemark status\` on ${node} says what it waits for.`,
  });
}

/** Returns the message about the end of that: nothing waits, or nothing waits for too long. */
export const safeNotice = (about: About, { run, safeStep, unsafeCheckpoints: count }: RunBacklog): AlertMessage =>
  message(about, run, {
    kind: "resolved",
    severity: "critical",
    rule: "not-safe",
    title:
      count === 0
        ? `${about.node}: nothing of ${run} waits any more`
        : `${about.node}: nothing of ${run} waits for too long any more; ${formatCount(count)} still wait`,
    lines: safeStep === null ? [] : [`The newest safe step is ${shownStep(safeStep)}.`],
    todo: "",
  });

const MOST_LINES = 10;

/** Returns the message about an event of this node; null for events that need none. */
export function eventNotice(about: About, event: NodeEventBody): AlertMessage | null {
  const { node } = about;
  if (event.type === "program-ended") {
    const { run, code, signal, ranMs, tail } = event;
    if (code === 0) return null;
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    return message(about, run, {
      kind: "firing",
      severity: "critical",
      rule: "program-failed",
      title: `${node}: the program of ${run} ended ${how} after ${formatDuration(ranMs)}`,
      lines: tail.trimEnd().split("\n").slice(-MOST_LINES),
      todo: `If it does not start again by itself, start it with the same command: it goes on from the newest safe checkpoint of ${run}.`,
    });
  }
  if (event.type !== "transfer-ended" || event.direction !== "download" || event.state !== "done") return null;
  const { run, step, bytes } = event;
  return message(about, run, {
    kind: "firing",
    severity: "info",
    rule: "restored",
    title: `${node}: ${stepWords(step)} of ${run} was restored`,
    lines: [`${formatBytes(bytes)} were fetched.`],
    todo: "",
  });
}

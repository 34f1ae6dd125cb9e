import { ALERT_WORDS } from "#protocol/alerts/alert-words.ts";
import type { AlertKind } from "#protocol/alerts/alerts.ts";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveRule, OpenAlert } from "#server/core/api/ports/alert-memory.ts";

/** Most alerts that a message lists; the page shows the rest. */
const NAMED = 10;
const MOST_LINE = 300;
/** Most characters: the advice has three sentences or more, see `adviceOf`. */
const MOST_TODO = 1_500;

const OF_RUNS: ReadonlySet<AlertKind> = new Set([
  "no-checkpoint",
  "work-lost",
  "claim-refused",
  "nothing-safe",
  "doubtful",
  "began-elsewhere",
  "job-failed",
]);

/** Returns the path of the page about an alert's subject. */
export function pathOf(alert: { kind: AlertKind; nodeId: string | null; run: string | null }): string {
  const { kind, nodeId, run } = alert;
  if (kind === "rejected" || kind === "bucket-away") return "/buckets";
  if (kind === "restore-failed") return "/transfers?show=failed";
  if (OF_RUNS.has(kind) && run !== null) return `/runs/${encodeURIComponent(run)}`;
  if (kind === "sign-ins-failed" || kind === "hub-disk") return "/settings";
  return nodeId === null ? "/alerts" : `/nodes/${encodeURIComponent(nodeId)}`;
}

/** Returns the URL of a path, at the address by which people reach the hub. */
export function linkTo({ settings }: Pick<Hub, "settings">, path: string): string {
  const base =
    settings.publicUrl?.origin ??
    `http://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${settings.port}`;
  return `${base}${path}`;
}

/** Replaces control characters, line breaks and bidirectional overrides, with which a name could forge lines of a message. */
export const oneLine = (text: string, most = MOST_LINE): string =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, " ").slice(0, most);

const sentenceOfAlert = ({ nodeName, text }: Pick<OpenAlert, "nodeName" | "text">): string =>
  oneLine(nodeName === null ? text : `${nodeName} ${text}`);

const clock = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** Returns what to do about one alert; for a silent node, with the advice for its runs. */
const todoOf = ({ kind }: OpenAlert, advice: string | null): string =>
  kind === "silent" && advice !== null
    ? ["See whether the machine still runs.", ...(advice === "" ? [] : [oneLine(advice, MOST_TODO)])].join(" ")
    : ALERT_WORDS[kind].todo;

interface Telling {
  kind: "firing" | "resolved";
  rule: LiveRule;
  alerts: readonly OpenAlert[];
  /** Alerts of the rule that were announced and still fire. */
  remaining: number;
  /** Advice for the runs of the one silent node, from the hub's records; null for all other messages. */
  advice: string | null;
}

/** Composes a message: what happened, since when, what to do, and where to look. */
export function composeMessage(
  hub: Pick<Hub, "settings" | "now">,
  { kind, rule, alerts, remaining, advice }: Telling,
): AlertMessage {
  const now = hub.now();
  const words = ALERT_WORDS[rule.condition.kind];
  const oldest = alerts.toSorted((a, b) => a.since - b.since);
  const [first] = oldest;
  const isOne = alerts.length === 1 && first !== undefined;
  const what = isOne ? sentenceOfAlert(first) : `${formatCount(alerts.length)} ${words.many}`;
  const lineOf = (alert: OpenAlert) =>
    kind === "firing" ? `${sentenceOfAlert(alert)} (since ${clock(alert.since)})` : sentenceOfAlert(alert);
  const more = alerts.length - NAMED;
  const since = first === undefined ? "" : `Since ${clock(first.since)}, ${formatDuration(now - first.since)} ago.`;
  return {
    kind,
    severity: rule.severity,
    rule: oneLine(rule.name),
    ruleId: rule.id,
    remaining,
    title: kind === "firing" ? `${what}.` : `Over: ${what}.`,
    lines: [
      ...(isOne ? (kind === "firing" ? [since] : []) : oldest.slice(0, NAMED).map(lineOf)),
      ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
      ...(kind === "resolved" && remaining > 0 ? [`${formatCount(remaining)} of this rule still fire.`] : []),
    ],
    todo:
      kind === "resolved" && remaining === 0
        ? "Nothing is left to do."
        : isOne && kind === "firing"
          ? todoOf(first, advice)
          : words.todo,
    link: linkTo(hub, isOne ? pathOf(first) : "/alerts"),
    at: now,
    count: alerts.length,
    alerts: oldest.slice(0, 50).map((alert) => ({
      id: alert.id,
      node: alert.nodeName,
      run: alert.run,
      text: oneLine(alert.text),
      since: alert.since,
    })),
  };
}

export const testMessage = (hub: Pick<Hub, "settings" | "now">): AlertMessage => ({
  kind: "test",
  severity: "info",
  rule: "Test",
  title: "This is a test: alerts of this hub arrive here.",
  lines: [],
  todo: "Nothing is left to do.",
  link: linkTo(hub, "/alerts"),
  at: hub.now(),
  count: 0,
  alerts: [],
});

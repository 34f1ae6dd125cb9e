import type { RuleView } from "#protocol/alerts/alert-views.ts";
import type { Severity } from "#protocol/alerts/severities.ts";
import type { AlertKind, RuleDraft } from "#protocol/alerts/alerts.ts";
import { PARAMETERS } from "./rule-words.ts";

/** Typed values of a rule. This module converts between form and rule; the hub validates. */
export interface RuleForm {
  name: string;
  kind: AlertKind;
  values: Record<string, string>;
  nodes: string;
  runs: string;
  /** As `region=eu, tier=spot`. */
  labels: string;
  severity: Severity;
  channelIds: readonly string[];
  quietFrom: string;
  quietTo: string;
  timeZone: string;
}

export const usualValues = (kind: AlertKind): Record<string, string> =>
  Object.fromEntries(PARAMETERS[kind].map(({ key, usual }) => [key, String(usual)]));

/** Returns the form of a new rule; `channelIds` are the channels that new rules use by default. */
export function emptyRule(timeZone: string, channelIds: readonly string[] = []): RuleForm {
  const rest = { nodes: "", runs: "", labels: "", severity: "warning" as const, channelIds };
  return { name: "", kind: "silent", values: usualValues("silent"), ...rest, quietFrom: "", quietTo: "", timeZone };
}

export function formOfRule({ rule }: RuleView, timeZone: string): RuleForm {
  const { condition, scope, quiet } = rule;
  const stored = new Map<string, unknown>(Object.entries(condition));
  return {
    name: rule.name,
    kind: condition.kind,
    values: Object.fromEntries(
      PARAMETERS[condition.kind].map(({ key, scale, usual }) => {
        const value = stored.get(key);
        return [key, String(typeof value === "number" ? value / scale : usual)];
      }),
    ),
    nodes: scope.nodes ?? "",
    runs: scope.runs ?? "",
    labels: Object.entries(scope.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(", "),
    severity: rule.severity,
    channelIds: rule.channelIds,
    quietFrom: quiet?.from ?? "",
    quietTo: quiet?.to ?? "",
    timeZone: quiet?.timeZone ?? timeZone,
  };
}

type Read = { ok: true; rule: RuleDraft } | { ok: false; errors: Record<string, string> };

/** Returns the typed rule, or its errors by input path. */
export function readRule(form: RuleForm, isEnabled: boolean): Read {
  const errors: Record<string, string> = {};
  if (form.name.trim() === "") errors["rule.name"] = "A rule needs a name.";
  const condition: Record<string, unknown> = { kind: form.kind };
  for (const { key, scale } of PARAMETERS[form.kind]) {
    const value = Number(form.values[key]);
    if (!(value > 0)) errors[`rule.condition.${key}`] = "This is a number greater than 0.";
    condition[key] = Math.round(value * scale);
  }
  const labels: Record<string, string> = {};
  for (const part of form.labels.split(",").filter((one) => one.trim() !== "")) {
    const [name = "", ...value] = part.split("=");
    if (name.trim() === "" || value.length === 0)
      errors["rule.scope.labels"] = "Labels look like region=eu, tier=spot.";
    labels[name.trim()] = value.join("=").trim();
  }
  if ((form.quietFrom === "") !== (form.quietTo === ""))
    errors["rule.quiet"] = "Quiet hours have a beginning and an end.";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const quiet =
    form.quietFrom === "" ? null : { from: form.quietFrom, to: form.quietTo, timeZone: form.timeZone.trim() };
  const scope = { nodes: form.nodes.trim() || null, runs: form.runs.trim() || null, labels };
  const rest = { severity: form.severity, channelIds: [...form.channelIds], quiet, isEnabled };
  return { ok: true, rule: { name: form.name.trim(), condition: condition as RuleDraft["condition"], scope, ...rest } };
}

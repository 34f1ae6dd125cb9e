import type { AuditRow } from "#protocol/fleet/people.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

interface Choice {
  value: string;
  label: string;
}

const byLabel = (a: Choice, b: Choice): number => a.label.localeCompare(b.label, "en");

/** Returns the actors of the shown entries by their current names. The chosen actor stays a choice when no entry matches. */
export function actorsIn(rows: readonly AuditRow[], chosen: string): Choice[] {
  const names = new Map<string, string>();
  for (const { actorId, actor, actorNow } of rows) {
    if (actorId !== null && !names.has(actorId)) names.set(actorId, visibleText(actorNow ?? actor));
  }
  if (chosen !== "" && !names.has(chosen)) names.set(chosen, visibleText(chosen));
  return [...names].map(([value, label]) => ({ value, label })).sort(byLabel);
}

/** Returns each action of the shown entries once. */
export const actionsIn = (rows: readonly AuditRow[], chosen: string): Choice[] =>
  [...new Set([...rows.map(({ action }) => action), ...(chosen === "" ? [] : [chosen])])]
    .map((value) => ({ value, label: visibleText(value) }))
    .sort(byLabel);

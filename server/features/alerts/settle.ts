import { alertAfter } from "#protocol/alerts/alerts.ts";
import { openKeyOf } from "./alert-memory.ts";
import type { Finding } from "./find-live.ts";
import type { AlertMemory, LiveRule } from "#server/core/api/ports/alert-memory.ts";

/** Decides which alerts of one rule fire and which are resolved. Updates `pending` and `clearing` of the memory. */
export function settle(
  memory: Pick<AlertMemory, "open" | "pending" | "clearing">,
  about: { rule: Pick<LiveRule, "id">; found: readonly Finding[]; now: number; isUnknown(nodeId: string): boolean },
): { fire: Finding[]; resolve: string[] } {
  const { rule, found, now, isUnknown } = about;
  const prefix = openKeyOf(rule.id, "");
  const seen = new Set<string>();
  const fire: Finding[] = [];
  for (const finding of found) {
    const key = openKeyOf(rule.id, finding.subject);
    if (seen.has(key)) continue;
    seen.add(key);
    memory.clearing.delete(key);
    const open = memory.open.get(key);
    if (open !== undefined) {
      open.text = finding.text;
      continue;
    }
    const since = memory.pending.get(key) ?? now;
    memory.pending.set(key, since);
    if (alertAfter("pending", "found", now - since) !== "firing") continue;
    memory.pending.delete(key);
    fire.push(finding);
  }
  for (const key of memory.pending.keys()) if (key.startsWith(prefix) && !seen.has(key)) memory.pending.delete(key);
  const resolve: string[] = [];
  for (const [key, { ruleId, nodeId }] of memory.open) {
    if (ruleId !== rule.id || seen.has(key)) continue;
    // The hub has just started, and the node has not reported yet.
    if (nodeId !== null && isUnknown(nodeId)) continue;
    const since = memory.clearing.get(key) ?? now;
    memory.clearing.set(key, since);
    if (alertAfter("firing", "gone", now - since) !== "resolved") continue;
    memory.clearing.delete(key);
    resolve.push(key);
  }
  return { fire, resolve };
}

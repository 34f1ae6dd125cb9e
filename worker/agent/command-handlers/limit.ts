import type { CommandDetail } from "#protocol/wire/commands.ts";
import { formatRate } from "#protocol/base/units.ts";
import type { Agent } from "../agent-assemble.ts";
import { limitsUntil, readSetLimits, writeSetLimits } from "#worker/limits/set-limits.ts";

interface Limit {
  up?: number | null | undefined;
  down?: number | null | undefined;
  until: number | null;
}

const textOf = (wanted: number | null | undefined, before: string | null): string | null =>
  wanted === undefined ? before : wanted === null ? null : wanted === 0 ? "off" : String(wanted);

/**
 * Sets the limits of this machine as `tidemark limit` does. Every worker and copy follows within a second. Faults: NO_SPACE,
 * WRITE_FAILED, READ_FAILED.
 */
export async function limit(
  { state: own, machine, session }: Agent,
  { up, down, until }: Limit,
): Promise<CommandDetail> {
  const leftMs = until === null ? null : until - session.hubNow();
  if (leftMs !== null && leftMs <= 0) return { up: null, down: null };
  const state = machine?.state ?? own;
  const before = await readSetLimits(state);
  const wanted = { up: textOf(up, before.up), down: textOf(down, before.down) };
  await writeSetLimits(state, leftMs === null ? wanted : await limitsUntil(state, wanted, Date.now() + leftMs));
  return { up: shown(wanted.up), down: shown(wanted.down) };
}

const shown = (text: string | null): string | null =>
  text === null ? null : /^\d+$/.test(text) ? formatRate(Number(text)) : text;

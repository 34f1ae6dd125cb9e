import type * as z from "zod";
import type { RegionRule, setRegionsInput } from "#protocol/history/history.ts";
import { regionRule } from "#protocol/history/history.ts";
import type { Database } from "#prisma/open.ts";
import { audit } from "../api/audit.ts";
import type { Context } from "../api/trpc.ts";

/** Returns the rules by precedence. A rule written by another version that cannot be read is skipped. */
export async function readRules(db: Database): Promise<RegionRule[]> {
  const rows = await db.regionRule.findMany({ orderBy: { position: "asc" } });
  return rows.flatMap((row) => {
    const rule = regionRule.safeParse(row);
    return rule.success ? [rule.data] : [];
  });
}

/** Replaces all rules. They apply from now on: recorded history keeps the region it was recorded with. */
export async function setRules(context: Context, input: z.infer<typeof setRegionsInput>): Promise<{ ok: true }> {
  const { hub, caller } = context;
  await hub.db.$transaction(async (tx) => {
    await tx.regionRule.deleteMany();
    await tx.regionRule.createMany({ data: input.rules.map((rule, position) => ({ position, ...rule })) });
  });
  hub.history.rules = input.rules;
  await audit(hub, caller, { action: "set regions", subject: `${input.rules.length} rules` });
  return { ok: true };
}

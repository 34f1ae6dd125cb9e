import * as z from "zod";
import { MOST_GROUPS, MOST_REPLICAS } from "./groups.ts";

/**
 * Scaling rules in the form of Salad's Kelpie. Its rule names a container group by the provider's id, which is also the queue
 * of the group's jobs. docs/kelpie.md describes them.
 */

const LONGEST_IDLE_SECONDS = 3_600;
const replicas = z.number().int().min(0).max(MOST_REPLICAS);

/** Id of a container group of Salad. Also in the paths of requests. */
export const containerGroupId = z.uuid("a container group's id is a UUID").max(36);

const limits = {
  min_replicas: replicas,
  max_replicas: replicas,
  idle_threshold_seconds: z.number().int().min(0).max(LONGEST_IDLE_SECONDS),
};

const areInOrder = (rule: { min_replicas?: number | undefined; max_replicas?: number | undefined }): boolean =>
  (rule.min_replicas ?? 0) <= (rule.max_replicas ?? MOST_REPLICAS);
const ORDER = { path: ["max_replicas"], message: "max_replicas is at least min_replicas" };

export const kelpieRule = z.object({ container_group_id: containerGroupId, ...limits }).refine(areInOrder, ORDER);
export type KelpieRule = z.infer<typeof kelpieRule>;
export const kelpieRuleChange = z.object(limits).partial().refine(areInOrder, ORDER);
export type KelpieRuleChange = z.infer<typeof kelpieRuleChange>;

/** A rule as an answer shows it. */
export interface KelpieRuleAnswer extends KelpieRule {
  org_name: string;
  project_name: string;
  container_group_name: string;
}

export const importRulesInput = z.object({
  rules: z.array(kelpieRule).min(1).max(MOST_GROUPS),
  /** Tells what would be done, and does nothing. */
  dryRun: z.boolean().default(false),
});

/** The outcome for one rule. `kept`: the group has a rule in this hub, which stays. `unknown`: no account has the group. */
export interface ImportedRule {
  containerGroupId: string;
  outcome: "set" | "kept" | "unknown";
  /** Name of the group at the provider; null with `unknown`. */
  group: string | null;
}

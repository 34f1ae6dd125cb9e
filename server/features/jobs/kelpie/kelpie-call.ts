import type * as z from "zod";
import type { KelpieRule, KelpieRuleAnswer, KelpieRuleChange } from "#protocol/groups/kelpie-rules.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { KelpieCaller } from "./kelpie-caller.ts";

/** A call of the Kelpie-compatible API, its answer, and the answers that several calls have. */

export interface KelpieAnswer {
  status: number;
  /** Null: the answer has no body. */
  body: unknown;
}

/** The scaling rules of container groups, which are stored beside the groups. Null: there is no such rule or group. */
export interface ScalingRules {
  list(): Promise<KelpieRuleAnswer[]>;
  read(id: string): Promise<KelpieRuleAnswer | null>;
  set(caller: PersonCaller, rule: KelpieRule): Promise<KelpieRuleAnswer | null>;
  change(caller: PersonCaller, id: string, change: KelpieRuleChange): Promise<KelpieRuleAnswer | null>;
  remove(caller: PersonCaller, id: string): Promise<void>;
}

export interface KelpieCall {
  hub: Hub;
  caller: KelpieCaller;
  query: URLSearchParams;
  /** Reads the body up to a limit, as JSON. @throws Fault BAD_INPUT, TOO_LARGE */
  readBody: (mostBytes: number) => Promise<unknown>;
  rules: ScalingRules;
  /** Parts of the path that a route names. */
  name: string;
}

export interface KelpieRoute {
  method: string;
  path: RegExp;
  answer: (call: KelpieCall) => Promise<KelpieAnswer>;
}

/** Body of a report of a worker, and of a scaling rule. */
export const MOST_REPORT_BYTES = 64 * 1024;

export const ok = (body: unknown): KelpieAnswer => ({ status: 200, body });

export const refuse = (message: string, index?: number): KelpieAnswer => ({
  status: 400,
  body: { error: "Bad Request", message, ...(index === undefined ? {} : { index }) },
});

/** Returns the first thing that is wrong with an input, for people. */
export function issueOf({ issues: [issue] }: z.ZodError): { path: PropertyKey[]; message: string } {
  return { path: issue?.path ?? [], message: issue?.message ?? "it is not valid" };
}

export function wordsOf(error: z.ZodError): string {
  const { path, message } = issueOf(error);
  return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
}

export const sayWrong = (error: z.ZodError): KelpieAnswer => refuse(wordsOf(error));

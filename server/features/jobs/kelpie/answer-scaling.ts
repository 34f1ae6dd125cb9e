import { containerGroupId, kelpieRule, kelpieRuleChange } from "#protocol/groups/kelpie-rules.ts";
import { requirePerson } from "./kelpie-caller.ts";
import {
  MOST_REPORT_BYTES,
  ok,
  refuse,
  sayWrong,
  type KelpieAnswer,
  type KelpieCall,
  type KelpieRoute,
} from "./kelpie-call.ts";

/** Answers Kelpie's calls about scaling rules. */

const NO_RULE: KelpieAnswer = { status: 404, body: { error: "Scaling Rule Not Found" } };

const isId = (name: string): boolean => containerGroupId.safeParse(name).success;

async function list({ caller, rules }: KelpieCall): Promise<KelpieAnswer> {
  requirePerson(caller, "viewer");
  const all = await rules.list();
  return ok({ _count: all.length, rules: all });
}

async function show({ caller, rules, name }: KelpieCall): Promise<KelpieAnswer> {
  requirePerson(caller, "viewer");
  const rule = isId(name) ? await rules.read(name) : null;
  return rule === null ? NO_RULE : ok(rule);
}

async function set({ caller, rules, readBody }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "operator");
  const parsed = kelpieRule.safeParse(await readBody(MOST_REPORT_BYTES));
  if (!parsed.success) return sayWrong(parsed.error);
  const rule = await rules.set(person, parsed.data);
  if (rule !== null) return { status: 201, body: rule };
  return refuse("Container group not found: no account of this hub has it. Add the account on the page Groups.");
}

async function change({ caller, rules, readBody, name }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "operator");
  const parsed = kelpieRuleChange.safeParse(await readBody(MOST_REPORT_BYTES));
  if (!parsed.success) return sayWrong(parsed.error);
  const rule = isId(name) ? await rules.change(person, name, parsed.data) : null;
  return rule === null ? NO_RULE : ok(rule);
}

async function remove({ caller, rules, name }: KelpieCall): Promise<KelpieAnswer> {
  const person = requirePerson(caller, "operator");
  if (isId(name)) await rules.remove(person, name);
  return { status: 204, body: null };
}

export const SCALING_ROUTES: readonly KelpieRoute[] = [
  { method: "GET", path: /^\/scaling-rules$/, answer: list },
  { method: "POST", path: /^\/scaling-rules$/, answer: set },
  { method: "GET", path: /^\/scaling-rules\/([^/]+)$/, answer: show },
  { method: "PATCH", path: /^\/scaling-rules\/([^/]+)$/, answer: change },
  { method: "DELETE", path: /^\/scaling-rules\/([^/]+)$/, answer: remove },
];

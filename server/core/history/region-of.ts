import type { NodeFacts } from "#protocol/wire/hello.ts";
import type { RegionRule } from "#protocol/history/history.ts";

/**
 * Where a node is: by the first rule of the operator that fits, else by its own label `region`, else nobody knows. Never by a
 * look-up over the network: addresses of rented machines say where their exit is. Pure.
 */

interface Placed {
  name: string;
  facts: Pick<NodeFacts, "labels" | "machineId">;
}

const NOT_A_REGION = /[^a-z0-9]+/g;
const LONGEST = 32;

/** Hostile text as a region: `US East ` is `us-east`. */
const regionFrom = (text: string): string =>
  text
    .toLowerCase()
    .replace(NOT_A_REGION, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, LONGEST);

/** Whether `pattern` with `*` and `?` covers `text`, ignoring case. Without regular expressions: the text is a stranger's. */
function covers(pattern: string, text: string): boolean {
  const [wanted, given] = [pattern.toLowerCase(), text.toLowerCase()];
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < given.length;) {
    if (wanted[at] === "*") {
      star = at++;
      resume = index;
    } else if (at < wanted.length && (wanted[at] === "?" || wanted[at] === given[index])) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++resume;
    } else return false;
  }
  while (wanted[at] === "*") at++;
  return at === wanted.length;
}

function fits(rule: RegionRule, { name, facts }: Placed): boolean {
  switch (rule.kind) {
    case "name":
      return covers(rule.pattern, name);
    case "machine":
      return facts.machineId !== null && covers(rule.pattern, facts.machineId);
    case "label":
      return Object.entries(facts.labels).some(([key, value]) => covers(rule.pattern, `${key}=${value}`));
  }
}

/** Empty where nobody said. */
export function regionOf(rules: readonly RegionRule[], node: Placed): string {
  const rule = rules.find((one) => fits(one, node));
  return rule?.region ?? regionFrom(node.facts.labels["region"] ?? "");
}

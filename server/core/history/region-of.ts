import type { NodeFacts } from "#protocol/wire/hello.ts";
import type { RegionRule } from "#protocol/history/history.ts";

/**
 * Finds a node's region: by the first matching rule of the operator, else by the node's own label `region`, else unknown.
 * Never looks an address up over the network: the address of a rented machine tells only where its exit is. Pure.
 */

interface Placed {
  name: string;
  facts: Pick<NodeFacts, "labels" | "machineId">;
}

const NOT_A_REGION = /[^a-z0-9]+/g;
const LONGEST = 32;

/** Returns untrusted text as a region name: `US East ` becomes `us-east`. */
const regionFrom = (text: string): string =>
  text
    .toLowerCase()
    .replace(NOT_A_REGION, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, LONGEST);

/**
 * Returns whether `pattern` with `*` and `?` matches all of `text`, ignoring case. Avoids regular expressions: the text is
 * untrusted.
 */
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

/** Returns the region; empty when unknown. */
export function regionOf(rules: readonly RegionRule[], node: Placed): string {
  const rule = rules.find((one) => fits(one, node));
  return rule?.region ?? regionFrom(node.facts.labels["region"] ?? "");
}

/**
 * Selects tensors by name: `*` matches any characters (dots too), `?` one character, `[a-z]` one of a set, `{a,b}` one of
 * the alternatives; a backslash escapes. A pattern that ends with a dot matches everything below it: `model.embed_tokens.`.
 * Names and patterns are untrusted, so a pattern never becomes a regular expression. Matching takes time in proportion to
 * pattern length times name length at most.
 */
export interface TensorPattern {
  /** Returns false once `effort` is used up; the result is then meaningless. */
  matches(name: string, effort?: Effort): boolean;
}

/** Remaining steps of matching, shared by all patterns and names, because both are untrusted. */
export interface Effort {
  left: number;
}

/** Largest number of patterns that braces may expand to. */
const MOST_ALTERNATIVES = 256;

/** A test of one character; null is `*`. */
type Step = ((sign: string) => boolean) | null;

/** Returns the compiled pattern, or why it is invalid. */
export function compileTensorPattern(text: string): TensorPattern | { reason: string } {
  if (text === "") return { reason: "the pattern is empty" };
  const alternatives = expand(text.endsWith(".") ? `${text}*` : text);
  if (!Array.isArray(alternatives)) return alternatives;
  const walks: Step[][] = [];
  for (const one of alternatives) {
    const steps = stepsOf(Array.from(one));
    if (!Array.isArray(steps)) return steps;
    walks.push(steps);
  }
  return {
    matches: (name, effort = { left: Infinity }) => {
      const signs = Array.from(name);
      return walks.some((steps) => walk(steps, signs, effort));
    },
  };
}

/** Expands braces into all alternatives. */
function expand(text: string): string[] | { reason: string } {
  let done: string[] = [""];
  const add = (ends: readonly string[]) => {
    done = done.flatMap((start) => ends.map((end) => start + end));
    return done.length <= MOST_ALTERNATIVES;
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (sign === "\\") {
      add([text.slice(at, at + 2)]);
      at++;
      continue;
    }
    if (sign !== "{") {
      add([sign]);
      continue;
    }
    const group = groupAt(text, at);
    if (group === null) return { reason: "a { is never closed" };
    const ends: string[] = [];
    for (const option of group.options) {
      const expanded = expand(option);
      if (!Array.isArray(expanded)) return expanded;
      ends.push(...expanded);
    }
    if (!add(ends)) return { reason: `it stands for more than ${MOST_ALTERNATIVES} patterns` };
    at = group.end;
  }
  return done;
}

/** Returns the options of the brace group that opens at `open`, and its closing index; null when it is never closed. */
function groupAt(text: string, open: number): { options: string[]; end: number } | null {
  const options: string[] = [];
  let from = open + 1;
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    const sign = text.charAt(at);
    if (sign === "\\") at++;
    else if (sign === "{") depth++;
    else if (sign === "}" && --depth === 0) return { options: [...options, text.slice(from, at)], end: at };
    else if (sign === "," && depth === 1) {
      options.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return null;
}

function stepsOf(signs: readonly string[]): Step[] | { reason: string } {
  const steps: Step[] = [];
  for (let at = 0; at < signs.length; at++) {
    const sign = signs[at] ?? "";
    if (sign === "\\") {
      const next = signs[++at];
      if (next === undefined) return { reason: "it ends with a backslash" };
      steps.push((one) => one === next);
    } else if (sign === "*") {
      if (steps.at(-1) !== null || steps.length === 0) steps.push(null);
    } else if (sign === "?") steps.push(() => true);
    else if (sign === "[") {
      const close = signs.indexOf("]", at + 2);
      if (close < 0) return { reason: "a [ is never closed" };
      steps.push(classOf(signs.slice(at + 1, close)));
      at = close;
    } else steps.push((one) => one === sign);
  }
  return steps;
}

function classOf(signs: readonly string[]): (sign: string) => boolean {
  const isNot = signs.length > 1 && (signs[0] === "!" || signs[0] === "^");
  const inside = isNot ? signs.slice(1) : signs;
  const ranges: [string, string][] = [];
  for (let at = 0; at < inside.length; at++) {
    const first = inside[at] ?? "";
    const last = inside[at + 1] === "-" ? inside[at + 2] : undefined;
    ranges.push([first, last ?? first]);
    if (last !== undefined) at += 2;
  }
  return (sign) => ranges.some(([first, last]) => first <= sign && sign <= last) !== isNot;
}

/** Matches with backtracking to the last `*` only: any text that an earlier `*` could take, the last one can take too. */
function walk(steps: readonly Step[], signs: readonly string[], effort: Effort): boolean {
  let [at, step] = [0, 0];
  let star: { step: number; at: number } | null = null;
  while (at < signs.length) {
    if (--effort.left < 0) return false;
    const test = steps[step];
    if (test === null) {
      star = { step, at };
      step++;
    } else if (test?.(signs[at] ?? "") === true) {
      at++;
      step++;
    } else if (star !== null) {
      star = { step: star.step, at: star.at + 1 };
      ({ at } = star);
      step = star.step + 1;
    } else return false;
  }
  while (steps[step] === null) step++;
  return step === steps.length;
}

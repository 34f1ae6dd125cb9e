import { keepPolicy, NO_RULES, type KeepPolicy } from "#protocol/retention/keeping.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { parseDuration, parseSize } from "#protocol/wire/read-units.ts";
import { usage } from "../command-line/command-context.ts";

const DAY_MS = 86_400_000;
const FORM = "rules look like last=3,every=1000,best=eval_loss:min; also every=6h, most=500GB, trash=3d";

/**
 * Reads the rules of `--keep`: `last=N`, `every=STEPS` or `every=TIME`, `best=METRIC:min|max[:COUNT]`, `most=SIZE`, and
 * `trash=TIME`, a day when absent. @throws Fault BAD_INPUT
 */
export function readKeep(text: string): KeepPolicy {
  const refuse = (detail: string) => usage(`--keep ${text}`, `${detail}; ${FORM}`);
  const wanted: Record<string, unknown> = { ...NO_RULES, trashMs: DAY_MS };
  const seen = new Set<string>();
  for (const rule of text.split(",").map((one) => one.trim())) {
    const [, name = "", value = ""] = /^([a-z]+)=(.+)$/.exec(rule) ?? [];
    const read = RULES[name];
    if (read === undefined) throw refuse(`"${rule}" is no rule`);
    if (seen.has(name)) throw refuse(`${name} is given twice`);
    seen.add(name);
    try {
      Object.assign(wanted, read(value));
    } catch (error) {
      if (!isFault(error)) throw error;
      throw refuse(`"${rule}": ${error.context.detail ?? "not valid"}`);
    }
  }
  const parsed = keepPolicy.safeParse(wanted);
  if (!parsed.success) throw refuse(parsed.error.issues[0]?.message ?? "not valid");
  const { last, everySteps, everyMs, best, mostBytes } = parsed.data;
  if ([last, everySteps, everyMs, best, mostBytes].every((one) => one === null))
    throw refuse("no rule says what to keep");
  return parsed.data;
}

/** Parses a whole number; NaN for anything else, which the schema refuses. */
const numberOf = (text: string): number => (/^\d{1,12}$/.test(text) ? Number(text) : Number.NaN);

const RULES: Readonly<Record<string, (value: string) => Partial<Record<keyof KeepPolicy, unknown>>>> = {
  last: (value) => ({ last: numberOf(value) }),
  every: (value) => (/^\d+$/.test(value) ? { everySteps: numberOf(value) } : { everyMs: parseDuration(value) }),
  best: (value) => {
    const [metric, want = "min", count = "1"] = value.split(":");
    return { best: { metric, want, count: numberOf(count) } };
  },
  most: (value) => ({ mostBytes: parseSize(value) }),
  trash: (value) => ({ trashMs: parseDuration(value) }),
};

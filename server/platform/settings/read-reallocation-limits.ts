import { Fault } from "#protocol/faults/fault.ts";
import { parseDuration } from "#protocol/wire/read-units.ts";
import { DEFAULT_LIMITS, type ReallocationLimits } from "#protocol/links/judge-reallocation.ts";

type Variables = Readonly<Record<string, string | undefined>>;

function read(variables: Variables, name: string, parse: (text: string) => number | null): number | null {
  const text = variables[name]?.trim();
  if (text === undefined || text === "") return null;
  const value = parse(text);
  if (value !== null) return value;
  throw new Fault("BAD_INPUT", { subject: name, detail: `${text} cannot be read` });
}

const whole = (text: string): number | null => (/^\d{1,6}$/.test(text) ? Number(text) : null);

function share(text: string): number | null {
  const percent = Number(/^(\d{1,3})\s*%$/.exec(text)?.[1] ?? Number.NaN);
  return percent <= 100 ? percent / 100 : null;
}

function duration(text: string): number | null {
  try {
    return parseDuration(text);
  } catch {
    return null;
  }
}

/** Returns the limits on giving machines back, from the environment. @throws Fault BAD_INPUT, naming the variable. */
export const readReallocationLimits = (variables: Variables): ReallocationLimits => ({
  perHour: read(variables, "TIDEMARK_REALLOCATE_PER_HOUR", whole) ?? DEFAULT_LIMITS.perHour,
  cooldownMs: read(variables, "TIDEMARK_REALLOCATE_COOLDOWN", duration) ?? DEFAULT_LIMITS.cooldownMs,
  quorumShare: read(variables, "TIDEMARK_REALLOCATE_QUORUM", share) ?? DEFAULT_LIMITS.quorumShare,
  quorumLeast: read(variables, "TIDEMARK_REALLOCATE_QUORUM_LEAST", whole) ?? DEFAULT_LIMITS.quorumLeast,
  excludeMs: read(variables, "TIDEMARK_REALLOCATE_EXCLUDE", duration) ?? DEFAULT_LIMITS.excludeMs,
  goodForMs: read(variables, "TIDEMARK_PROBE_GOOD_FOR", duration) ?? DEFAULT_LIMITS.goodForMs,
});
